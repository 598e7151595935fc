package kubetest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// Names and texts that YAML reads as numbers, booleans and null.
func TestAPINamesThatLookLikeNumbers(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	for _, name := range []string{"123", "1e3"} {
		kubetest.NamespaceCalled(t, name)
		r := kubetest.Release{Name: name, Namespace: name}
		t.Cleanup(func() { r.Uninstall(t) })
		r.Helm(t, "install", name, helmtest.Chart(), "--set-string", "injection.namespaces={"+name+"},env.NULL=Off,env.Off=1e3",
			"--set", "networkPolicy.enabled=true,dashboard.enabled=true", "--set-string", "redis.passwordSecret.name=012,redis.passwordSecret.key=0x1f")
		kubetest.Await(t, name, kubetest.Injected)
		pod := created(t, kubetest.Pod(name, kubetest.Labelled))
		connected(t, pod, socket)
		require.Equal(t, "Off", env(kubetest.Sidecar(pod), "NULL"))
		require.Equal(t, "1e3", env(kubetest.Sidecar(pod), "Off"))
		require.Equal(t, "/etc/coxswain-redis/0x1f", env(kubetest.Sidecar(pod), "COXSWAIN_REDIS_PASSWORD_FILE"))
	}
}

// warned returns the server's warnings about a pod that it accepts.
func warned(t *testing.T, pod kubetest.Object) string {
	t.Helper()
	_, warnings, err := kubetest.Warnings(t, pod)
	require.NoError(t, err)
	return warnings
}

// With Ignore a pod starts even if a policy would refuse it, and its creator gets a warning.
func TestAPIWithIgnoreTheValidationWarns(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	ns := kubetest.Namespace(t)
	r := kubetest.Install(t, ns, "--set", "injection.failurePolicy=Ignore")
	kubetest.Poll(t, "the policies act", func() error {
		pod, err := kubetest.DryRun(t, kubetest.Pod(ns, kubetest.Labelled))
		if err != nil {
			return err
		}
		if err := kubetest.Injected(pod); err != nil {
			return err
		}
		_, warnings, err := kubetest.Warnings(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated("readiness", "mostly")))
		if err != nil || !strings.Contains(warnings, "metadata.annotations[coxswain.dev/readiness]") {
			return fmt.Errorf("no warning yet: %q: %w", warnings, err)
		}
		return nil
	})
	require.Empty(t, warned(t, kubetest.Pod(ns, kubetest.Labelled)))
	kubetest.Must(t, "", "delete", "mutatingadmissionpolicybinding", r.ClusterName())
	kubetest.Poll(t, "a pod without its sidecar is created with a warning", func() error {
		pod, warnings, err := kubetest.Warnings(t, kubetest.Pod(ns, kubetest.Labelled))
		if err != nil || kubetest.Sidecar(pod) != nil || !strings.Contains(warnings, "is labelled coxswain.dev/inject and has no sidecar") {
			return fmt.Errorf("not so: %q: %w", warnings, err)
		}
		return nil
	})
}

// A pod that has the sidecar from the templates, with another socket and without the
// Secret of the policy, is left as it is, and so are its other containers.
func TestAPIAPodWithAnotherSidecarIsNotChanged(t *testing.T) {
	t.Parallel()
	r, ns := injects(t, "--set", "redis.passwordSecret.name=of-the-policy", "--set-json", `extraVolumes=[{"name":"ca","secret":{"secretName":"ca"}}]`)
	pod := dependent(t, r, "--set", "sidecar.socket.path=/run/other/box.sock")
	kubetest.Labelled(pod)
	containers, _ := pod.At("spec")["containers"].([]any)
	kubetest.With(append(containers, fields{"name": "logs", "image": "logs:1"}), "spec", "containers")(pod)
	before := created(t, pod)
	require.Equal(t, []string{"coxswain", "coxswain-config"}, kubetest.Names(before.At("spec")["volumes"]))
	logs := kubetest.Called(before.At("spec")["containers"], "logs")
	require.Nil(t, logs["env"])
	require.Nil(t, logs["volumeMounts"])
	require.Nil(t, before.At("metadata", "annotations")["coxswain.dev/injected-by"])
	// A pod that the policy injects has the annotation.
	require.Equal(t, r.ClusterName(), created(t, kubetest.Pod(ns, kubetest.Labelled)).At("metadata", "annotations")["coxswain.dev/injected-by"])
}

// Pods that would fail later are refused with a text that names the field.
func TestAPIPodsThatWouldFailLaterAreRefused(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	port := func(n int, more ...any) []any { return append([]any{fields{"containerPort": n}}, more...) }
	windows := fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{"nodeSelectorTerms": []any{fields{"matchExpressions": []any{
		fields{"key": "kubernetes.io/os", "operator": "In", "values": []any{"windows"}},
	}}}}}
	for name, c := range map[string]struct {
		change kubetest.Change
		want   string
	}{
		"a misspelt annotation": {
			kubetest.Annotated("memory_limit", "1Gi"),
			"metadata.annotations[coxswain.dev/memory_limit]: unknown annotation; known are coxswain.dev/image-tag, coxswain.dev/cpu-request",
		},
		"a node selector for Windows": {kubetest.With("windows", "spec", "nodeSelector", "kubernetes.io/os"), "the sidecar runs on Linux only"},
		"an affinity for Windows":     {kubetest.With(windows, "spec", "affinity", "nodeAffinity"), "the sidecar runs on Linux only"},
		"an operating system":         {kubetest.With("windows", "spec", "os", "name"), "the sidecar runs on Linux only"},
		"the health port":             {kubetest.First("ports", port(8086)), "spec.containers[fetch].ports: the sidecar uses one of these"},
		"the health port of the annotation": {func(pod kubetest.Object) {
			kubetest.First("ports", port(9000))(pod)
			kubetest.Annotated("http-port", "9000")(pod)
		}, "spec.containers[fetch].ports: the sidecar uses one of these"},
		"the health port on the node's network": {func(pod kubetest.Object) {
			kubetest.With(true, "spec", "hostNetwork")(pod)
			kubetest.First("ports", port(8086))(pod)
		}, "spec.containers[fetch].ports: the sidecar uses one of these"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := refused(t, kubetest.Pod(ns, kubetest.Labelled, c.change))
			require.Contains(t, text, c.want)
		})
	}
	for name, change := range map[string]kubetest.Change{
		"another port":                     kubetest.First("ports", port(8080)),
		"the port of another protocol":     kubetest.First("ports", []any{fields{"containerPort": 8086, "protocol": "UDP"}}),
		"the node's network":               kubetest.With(true, "spec", "hostNetwork"),
		"an annotation of somebody else's": kubetest.With("x", "metadata", "annotations", "coxswain.example/y"),
		"the label's name as annotation":   kubetest.Annotated("inject", "true"),
		"Linux":                            kubetest.With("linux", "spec", "nodeSelector", "kubernetes.io/os"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connected(t, created(t, kubetest.Pod(ns, kubetest.Labelled, change)), socket)
		})
	}
}

// kubectl apply reports manifests that it applied before as unchanged.
func TestAPIManifestsAppliedTwiceAreUnchanged(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	ns := kubetest.Namespace(t)
	r := kubetest.Release{Name: kubetest.Name("r"), Namespace: ns}
	text := r.Helm(t, "template", r.Name, helmtest.Chart(), "--kube-version", "1.37.2", "--skip-tests",
		"--set", "networkPolicy.enabled=true,dashboard.enabled=true")
	apply := func(text string) string { return kubetest.Must(t, text, "apply", "--filename=-", "--namespace", ns) }
	apply(text)
	t.Cleanup(func() { kubetest.Must(t, text, "delete", "--filename=-", "--ignore-not-found", "--wait=false") })
	for line := range strings.Lines(apply(text)) {
		require.Contains(t, line, " unchanged")
	}
	crawler := kubetest.Must(t, "", "kustomize", filepath.Join(helmtest.Root(), "manifests", "crawler"))
	crawler = strings.ReplaceAll(crawler, "namespace: crawlers", "namespace: "+ns)
	crawler = strings.ReplaceAll(crawler, "name: crawlers\n", "name: "+ns+"\n")
	apply(crawler)
	for line := range strings.Lines(apply(crawler)) {
		require.Contains(t, line, " unchanged")
	}
}
