package kubetest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

type fields = map[string]any

// long returns an absolute path of n bytes.
func long(n int) string { return "/run/" + strings.Repeat("x", n-len("/run//s.sock")) + "/s.sock" }

func TestAPIPodsWithTheirOwnVolumesMountsAndVariables(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	first := func(pod kubetest.Object) kubetest.Object { return kubetest.List(pod.At("spec")["containers"])[0] }
	for name, c := range map[string]struct {
		change kubetest.Change
		check  func(t *testing.T, pod kubetest.Object)
	}{
		"init containers, which come after it and may use it": {
			kubetest.With([]any{fields{"name": "migrate", "image": "a:1"}, fields{"name": "tail", "image": "a:1", "restartPolicy": "Always"}}, "spec", "initContainers"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []string{"coxswain", "migrate", "tail"}, kubetest.Names(pod.At("spec")["initContainers"]))
				connected(t, pod, socket)
			},
		},
		"a volume of our name and type, which is kept": {
			kubetest.With([]any{fields{"name": "coxswain", "emptyDir": fields{"sizeLimit": "1Mi"}}}, "spec", "volumes"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []string{"coxswain", "coxswain-config"}, kubetest.Names(pod.At("spec")["volumes"]))
				require.Equal(t, fields{"sizeLimit": "1Mi"}, kubetest.Called(pod.At("spec")["volumes"], "coxswain")["emptyDir"])
				connected(t, pod, socket)
			},
		},
		"volumes and mounts of other names": {
			func(pod kubetest.Object) {
				kubetest.With([]any{fields{"name": "data", "emptyDir": fields{}}}, "spec", "volumes")(pod)
				kubetest.First("volumeMounts", []any{fields{"name": "data", "mountPath": "/data"}})(pod)
			},
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []string{"data", "coxswain"}, kubetest.Names(first(pod)["volumeMounts"]))
				connected(t, pod, socket)
			},
		},
		"our volume mounted where it belongs, read-only": {
			func(pod kubetest.Object) {
				kubetest.With([]any{fields{"name": "coxswain", "emptyDir": fields{}}}, "spec", "volumes")(pod)
				kubetest.First("volumeMounts", []any{fields{"name": "coxswain", "mountPath": "/run/coxswain", "readOnly": true}})(pod)
			},
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, true, kubetest.List(first(pod)["volumeMounts"])[0]["readOnly"])
				connected(t, pod, socket)
			},
		},
		"COXSWAIN_SOCKET, which is kept, and other variables": {
			kubetest.First("env", []any{fields{"name": "COXSWAIN_SOCKET", "value": "/elsewhere/s.sock"}, fields{"name": "A", "value": "1"}}),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{fields{"name": "COXSWAIN_SOCKET", "value": "/elsewhere/s.sock"}, fields{"name": "A", "value": "1"}}, first(pod)["env"])
			},
		},
		"COXSWAIN_SOCKET from a field": {
			kubetest.First("env", []any{fields{"name": "COXSWAIN_SOCKET", "valueFrom": fields{"fieldRef": fields{"fieldPath": "metadata.annotations['s']"}}}}),
			func(t *testing.T, pod kubetest.Object) { require.Len(t, first(pod)["env"], 1) },
		},
		"a path of 107 bytes": {
			kubetest.First("env", []any{fields{"name": "COXSWAIN_SOCKET", "value": long(107)}}),
			func(t *testing.T, pod kubetest.Object) {
				require.Len(t, long(107), 107)
				require.Equal(t, []any{fields{"name": "COXSWAIN_SOCKET", "value": long(107)}}, first(pod)["env"])
			},
		},
		"groups, which are kept": {
			kubetest.With([]any{4000, 5000}, "spec", "securityContext", "supplementalGroups"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{4000.0, 5000.0, 65532.0}, pod.At("spec", "securityContext")["supplementalGroups"])
			},
		},
		"our group": {
			kubetest.With([]any{65532}, "spec", "securityContext", "supplementalGroups"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{65532.0}, pod.At("spec", "securityContext")["supplementalGroups"])
			},
		},
		"a security context without groups": {
			kubetest.With(fields{"runAsUser": 1001, "fsGroup": 2000}, "spec", "securityContext"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, fields{"runAsUser": 1001.0, "fsGroup": 2000.0, "supplementalGroups": []any{65532.0}}, pod.At("spec")["securityContext"])
			},
		},
		"a grace period, which the sidecar is told": {
			kubetest.With(90, "spec", "terminationGracePeriodSeconds"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{"/sidecar", "drain", "--grace", "90s"}, kubetest.Sidecar(pod).At("lifecycle", "preStop", "exec")["command"])
			},
		},
		"a grace period of more than sidecar drain takes": {
			kubetest.With(100_000, "spec", "terminationGracePeriodSeconds"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{"/sidecar", "drain", "--grace", "86400s"}, kubetest.Sidecar(pod).At("lifecycle", "preStop", "exec")["command"])
			},
		},
		"the sidecar's volume, written with a slash at its end": {
			func(pod kubetest.Object) {
				kubetest.With([]any{fields{"name": "coxswain", "emptyDir": fields{}}}, "spec", "volumes")(pod)
				kubetest.First("volumeMounts", []any{fields{"name": "coxswain", "mountPath": "/run/coxswain/"}})(pod)
			},
			func(t *testing.T, pod kubetest.Object) { require.Len(t, first(pod)["volumeMounts"], 1) },
		},
		"a volume coxswain-redis, where no password is read": {
			kubetest.With([]any{fields{"name": "coxswain-redis", "emptyDir": fields{}}}, "spec", "volumes"),
			func(t *testing.T, pod kubetest.Object) { require.Len(t, pod.At("spec")["volumes"], 3) },
		},
		"no grace period": {
			kubetest.With(0, "spec", "terminationGracePeriodSeconds"),
			func(t *testing.T, pod kubetest.Object) {
				require.Equal(t, []any{"/sidecar", "drain", "--grace", "1s"}, kubetest.Sidecar(pod).At("lifecycle", "preStop", "exec")["command"])
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := created(t, kubetest.Pod(ns, kubetest.Labelled, c.change))
			require.NotNil(t, kubetest.Sidecar(pod))
			c.check(t, pod)
		})
	}
}

func TestAPIPodsThatCannotWorkAreRefusedByField(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	hostPath := func(name string) kubetest.Change {
		return kubetest.With([]any{fields{"name": name, "hostPath": fields{"path": "/run"}}}, "spec", "volumes")
	}
	socketOf := func(path string) []any { return []any{fields{"name": "COXSWAIN_SOCKET", "value": path}} }
	require.Len(t, long(108), 108)
	for want, change := range map[string]kubetest.Change{
		"spec.volumes[coxswain]: the sidecar has a volume of this name, of type emptyDir; rename yours":         hostPath("coxswain"),
		"spec.volumes[coxswain-config]: the sidecar has a volume of this name, of type configMap; rename yours": hostPath("coxswain-config"),
		"spec.containers[fetch].env[COXSWAIN_SOCKET]: the path of a socket has at most 107 bytes":               kubetest.First("env", socketOf(long(108))),
		"spec.initContainers[migrate].env[COXSWAIN_SOCKET]: the path of a socket has at most 107 bytes": kubetest.With(
			[]any{fields{"name": "migrate", "image": "a:1", "env": socketOf("/" + strings.Repeat("ä", 54))}}, "spec", "initContainers"),
		"spec.containers[fetch].volumeMounts: the sidecar's socket is mounted at /run/coxswain": func(pod kubetest.Object) {
			kubetest.With([]any{fields{"name": "mine", "emptyDir": fields{}}}, "spec", "volumes")(pod)
			kubetest.First("volumeMounts", []any{fields{"name": "mine", "mountPath": "/run/coxswain/"}})(pod)
		},
		"mount your volume elsewhere, and the sidecar's without a subPath": func(pod kubetest.Object) {
			kubetest.With([]any{fields{"name": "coxswain", "emptyDir": fields{}}}, "spec", "volumes")(pod)
			kubetest.First("volumeMounts", []any{fields{"name": "coxswain", "mountPath": "/run/coxswain", "subPath": "a"}})(pod)
		},
		"metadata.annotations[coxswain.dev/config]: the pod has its own volume coxswain-config, of another ConfigMap": func(pod kubetest.Object) {
			kubetest.Annotated("config", "theirs")(pod)
			kubetest.With([]any{fields{"name": "coxswain-config", "configMap": fields{"name": "mine"}}}, "spec", "volumes")(pod)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, refused(t, kubetest.Pod(ns, kubetest.Labelled, change)), want)
		})
	}
}

func TestAPIASocketAtTheLimitOfItsPath(t *testing.T) {
	t.Parallel()
	path := long(107)
	r, ns := injects(t, "--set", "socket.path="+path)
	connected(t, created(t, kubetest.Pod(ns, kubetest.Labelled)), path)
	out, err := helmtest.Helm(t, "upgrade", r.Name, helmtest.Chart(), "--namespace", ns, "--set", "socket.path="+long(108))
	require.Error(t, err)
	require.Contains(t, out, "at '/socket/path': maxLength: got 108, want 107")
}

// With requests equal to the limits a Guaranteed pod stays Guaranteed, also with its CPU annotation.
func TestAPIAGuaranteedPodStaysGuaranteed(t *testing.T) {
	t.Parallel()
	_, ns := injects(t, "--set", "resources.guaranteed=true", "--set", "resources.limits.cpu=100m")
	same := fields{"cpu": "500m", "memory": "64Mi"}
	guaranteed := func(pod kubetest.Object) {
		for _, c := range kubetest.List(pod.At("spec")["containers"]) {
			c["resources"] = fields{"requests": same, "limits": same}
		}
	}
	for _, changes := range [][]kubetest.Change{
		{kubetest.Labelled, guaranteed},
		{kubetest.Labelled, guaranteed, kubetest.Annotated("cpu-limit", "200m"), kubetest.Annotated("memory-limit", "1Gi")},
	} {
		require.Equal(t, "Guaranteed", created(t, kubetest.Pod(ns, changes...)).At("status")["qosClass"])
	}
	require.Equal(t, "BestEffort", created(t, kubetest.Pod(ns)).At("status")["qosClass"])
	require.Equal(t, "Burstable", created(t, kubetest.Pod(ns, kubetest.Labelled)).At("status")["qosClass"])
}

// A namespace whose quota has limits.cpu accepts injected pods only if the sidecar has a CPU limit.
func TestAPIAQuotaOnCPULimits(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	kubetest.Must(t, "", "create", "quota", "cpu", "--hard=limits.cpu=4", "--namespace", ns)
	// The quota's controller does not run; the usage that it would count is 0.
	kubetest.Must(t, "", "patch", "quota", "cpu", "--namespace", ns, "--subresource=status", "--type=merge",
		"--patch", `{"status":{"hard":{"limits.cpu":"4"},"used":{"limits.cpu":"0"}}}`)
	limited := func(pod kubetest.Object) {
		for _, c := range kubetest.List(pod.At("spec")["containers"]) {
			c["resources"] = fields{"limits": fields{"cpu": "500m"}}
		}
	}
	// The quota takes effect when the server has read it.
	kubetest.Poll(t, "the quota refuses", func() error {
		_, err := kubetest.DryRun(t, kubetest.Pod(ns, kubetest.Labelled, limited))
		if err == nil || !strings.Contains(err.Error(), "must specify limits.cpu for: coxswain") {
			return fmt.Errorf("not yet: %w", errors.Join(err))
		}
		return nil
	})
	created(t, kubetest.Pod(ns, kubetest.Labelled, limited, kubetest.Annotated("cpu-limit", "200m")))
}
