package kubetest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// env returns the value of a variable in the sidecar's environment.
func env(sidecar kubetest.Object, name string) any {
	return kubetest.Called(sidecar["env"], name)["value"]
}

func TestAPIAnnotationsOverrideValues(t *testing.T) {
	t.Parallel()
	_, ns := injects(t, "--set", "readiness.mode=redis", "--set", "logLevel=warn")
	plain := kubetest.Sidecar(created(t, kubetest.Pod(ns, kubetest.Labelled)))
	require.Equal(t, "warn", env(plain, "COXSWAIN_TELEMETRY_LOG_LEVEL"))
	require.Equal(t, "redis", env(plain, "COXSWAIN_READINESS_MODE"))
	require.Equal(t, ":8086", env(plain, "COXSWAIN_HTTP_ADDR"))

	requests := func(s kubetest.Object) any { return fmt.Sprint(s.At("resources")["requests"]) }
	limits := func(s kubetest.Object) any { return fmt.Sprint(s.At("resources")["limits"]) }
	for _, c := range []struct {
		name, value string
		sees        func(sidecar kubetest.Object) any
		want        any
	}{
		{"image-tag", "v1.2.3", func(s kubetest.Object) any { return s["image"] }, "coxswain:v1.2.3"},
		{"cpu-request", "10m", requests, "map[cpu:10m memory:64Mi]"},
		{"memory-request", "100Mi", requests, "map[cpu:50m memory:100Mi]"},
		{"cpu-limit", "1", limits, "map[cpu:1 memory:128Mi]"},
		{"memory-limit", "1Gi", limits, "map[memory:1Gi]"},
		{"log-level", "debug", func(s kubetest.Object) any { return env(s, "COXSWAIN_TELEMETRY_LOG_LEVEL") }, "debug"},
		{"readiness", "always", func(s kubetest.Object) any { return env(s, "COXSWAIN_READINESS_MODE") }, "always"},
		{"readiness", "none", func(s kubetest.Object) any { return s["readinessProbe"] }, nil},
		{"http-port", "1024", func(s kubetest.Object) any { return env(s, "COXSWAIN_HTTP_ADDR") }, ":1024"},
		{"http-port", "65535", func(s kubetest.Object) any { return kubetest.List(s["ports"])[0]["containerPort"] }, float64(65535)},
		{"http-port", "9000", func(s kubetest.Object) any { return s.At("livenessProbe", "httpGet")["port"] }, float64(9000)},
		{"http-port", "9001", func(s kubetest.Object) any { return s.At("readinessProbe", "httpGet")["port"] }, float64(9001)},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Parallel()
			require.NotEqual(t, c.want, c.sees(plain), "without the annotation")
			pod := created(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated(c.name, c.value)))
			require.Equal(t, c.want, c.sees(kubetest.Sidecar(pod)))
			connected(t, pod, socket)
		})
	}
	t.Run("config", func(t *testing.T) {
		t.Parallel()
		pod := created(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated("config", "rules.of-mine")))
		require.Equal(t, "rules.of-mine", kubetest.Called(pod.At("spec")["volumes"], "coxswain-config").At("configMap")["name"])
	})
	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		pod := kubetest.Pod(ns, kubetest.Labelled)
		for name, value := range map[string]string{
			"image-tag": "x", "cpu-request": "200m", "cpu-limit": "200m", "memory-request": "256Mi", "memory-limit": "256Mi",
			"config": "c", "log-level": "error", "http-port": "8087", "readiness": "none",
		} {
			kubetest.Annotated(name, value)(pod)
		}
		connected(t, created(t, pod), socket)
	})
}

func TestAPIWrongAnnotationsAreRefusedByName(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	for _, c := range []struct{ name, value, remedy string }{
		{"image-tag", "latest!", "is not an image tag; write one such as v1.2.3"},
		{"image-tag", "registry/coxswain:1", "without the repository"},
		{"cpu-request", "fast", "is not a quantity above zero; write one such as 100m"},
		{"cpu-request", "0", "is not a quantity above zero"},
		{"memory-request", "64MB!", "is not an amount of memory from 16Mi up; write one such as 64Mi"},
		{"memory-request", "-1Mi", "is not an amount of memory"},
		{"memory-request", "100m", "is not an amount of memory"},
		{"memory-limit", "128", "is not an amount of memory"},
		{"cpu-limit", "1 core", "is not a quantity above zero; write one such as 500m"},
		{"memory-limit", "lots", "is not an amount of memory from 16Mi up; write one such as 128Mi"},
		{"config", "My Rules", "is not a valid name of a ConfigMap"},
		{"log-level", "verbose", "is not a log level; use debug, info, warn or error"},
		{"http-port", "80", "is not a port; use 1024 to 65535"},
		{"http-port", "65536", "is not a port; use 1024 to 65535"},
		{"http-port", "http", "is not a port; use 1024 to 65535"},
		{"readiness", "mostly", "is not a readiness mode; use redis, always or none"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Parallel()
			text := refused(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated(c.name, c.value)))
			require.Contains(t, text, fmt.Sprintf("metadata.annotations[coxswain.dev/%s]: %q %s", c.name, c.value, ""))
			require.Contains(t, text, c.remedy)
		})
	}
	for resource, more := range map[string]string{"cpu": "2", "memory": "1Gi"} {
		pod := kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated(resource+"-request", more))
		if resource == "cpu" {
			kubetest.Annotated("cpu-limit", "1")(pod)
		}
		require.Contains(t, refused(t, pod), fmt.Sprintf("metadata.annotations[coxswain.dev/%[1]s-request]: the sidecar's request of %[2]s is more than its limit", resource, more))
	}
	require.Contains(t, refused(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated("cpu-limit", "20m"))),
		"metadata.annotations[coxswain.dev/cpu-limit]: the sidecar's request of 50m is more than its limit of 20m")
}
