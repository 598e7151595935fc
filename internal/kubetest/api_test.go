package kubetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// injects installs a release for a namespace of its own and waits until it is in effect.
func injects(t *testing.T, args ...string) (kubetest.Release, string) {
	t.Helper()
	kubetest.API(t)
	ns := kubetest.Namespace(t)
	r := kubetest.Install(t, ns, args...)
	kubetest.Await(t, ns, kubetest.Injected)
	return r, ns
}

// created returns a pod as the server would create it.
func created(t *testing.T, pod kubetest.Object) kubetest.Object {
	t.Helper()
	got, err := kubetest.DryRun(t, pod)
	require.NoError(t, err)
	return got
}

// refused returns the text with which the server refuses a pod.
func refused(t *testing.T, pod kubetest.Object) string {
	t.Helper()
	_, err := kubetest.DryRun(t, pod)
	require.Error(t, err)
	return err.Error()
}

// containers returns all containers of a pod except the sidecar.
func containers(pod kubetest.Object) []kubetest.Object {
	var all []kubetest.Object
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range kubetest.List(pod.At("spec")[list]) {
			if c["name"] != "coxswain" {
				all = append(all, c)
			}
		}
	}
	return all
}

// connected requires that every container of the app has the socket, once.
func connected(t *testing.T, pod kubetest.Object, socket string) {
	t.Helper()
	require.NotNil(t, kubetest.Sidecar(pod), "the sidecar is first and native")
	dir := socket[:strings.LastIndex(socket, "/")]
	for _, c := range append(containers(pod), kubetest.Sidecar(pod)) {
		said, mounted := 0, 0
		for _, e := range kubetest.List(c["env"]) {
			if e["name"] == "COXSWAIN_SOCKET" {
				require.Equal(t, socket, e["value"], "%s", c["name"])
				said++
			}
		}
		for _, m := range kubetest.List(c["volumeMounts"]) {
			if m["mountPath"] == dir {
				require.Equal(t, "coxswain", m["name"], "%s", c["name"])
				mounted++
			}
		}
		require.Equal(t, [2]int{1, 1}, [2]int{said, mounted}, "COXSWAIN_SOCKET and mounts of %s in %s", dir, c["name"])
	}
	require.Contains(t, pod.At("spec", "securityContext")["supplementalGroups"], float64(65532))
}

const socket = "/run/coxswain/sidecar.sock"

// No controller runs, so the test makes the pod that the controller would make from the Deployment.
func TestAPIALabelledDeploymentGetsTheSidecar(t *testing.T) {
	t.Parallel()
	r, ns := injects(t)
	template := kubetest.Pod(ns, kubetest.Labelled, kubetest.With("crawler", "metadata", "labels", "app"))
	deployment, err := kubetest.Create(t, kubetest.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "crawler", "namespace": ns},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "crawler"}},
			"template": map[string]any{"metadata": map[string]any(template.At("metadata")), "spec": map[string]any(template.At("spec"))},
		},
	})
	require.NoError(t, err)
	require.Len(t, kubetest.List(deployment.At("spec", "template", "spec")["containers"]), 2, "the workload itself stays as it is")
	made := kubetest.Object{"apiVersion": "v1", "kind": "Pod"}
	for key, value := range deployment.At("spec", "template") {
		made[key] = value
	}
	kubetest.With("crawler-1", "metadata", "name")(made)
	kubetest.With(ns, "metadata", "namespace")(made)
	_, err = kubetest.Create(t, made)
	require.NoError(t, err)

	pod := kubetest.Get(t, "pod", "crawler-1", "--namespace", ns)
	connected(t, pod, socket)
	require.Equal(t, []string{"fetch", "parse"}, kubetest.Names(pod.At("spec")["containers"]))
	volumes := pod.At("spec")["volumes"]
	require.Equal(t, map[string]any{"medium": "Memory", "sizeLimit": "16Mi"}, kubetest.Called(volumes, "coxswain")["emptyDir"])
	config := kubetest.Called(volumes, "coxswain-config").At("configMap")["name"]
	require.Equal(t, r.Name+"-sidecar-config", config)
	require.Contains(t, kubetest.Get(t, "configmap", r.Name+"-sidecar-config", "--namespace", ns).At("data")["sidecar.yaml"], "redis://redis:6379")
	sidecar := kubetest.Sidecar(pod)
	require.Equal(t, "coxswain:0.1.0", sidecar["image"])
	require.Equal(t, map[string]any{"cpu": "50m", "memory": "64Mi"}, sidecar.At("resources")["requests"])
	require.Equal(t, map[string]any{"memory": "128Mi"}, sidecar.At("resources")["limits"])
}

func TestAPIUnlabelledPodsAreNotChanged(t *testing.T) {
	t.Parallel()
	r, ns := injects(t)
	other := kubetest.Namespace(t)
	for name, pod := range map[string]kubetest.Object{
		"without the label":             kubetest.Pod(ns),
		"with the label on false":       kubetest.Pod(ns, kubetest.With("false", "metadata", "labels", "coxswain.dev/inject")),
		"annotated only":                kubetest.Pod(ns, kubetest.With("true", "metadata", "annotations", "coxswain.dev/inject")),
		"in a namespace that is not":    kubetest.Pod(other, kubetest.Labelled),
		"wrong in such a namespace":     kubetest.Pod(other, kubetest.Labelled, kubetest.Annotated("readiness", "mostly")),
		"with our volume, not labelled": kubetest.Pod(ns, kubetest.With([]any{map[string]any{"name": "coxswain", "hostPath": map[string]any{"path": "/run"}}}, "spec", "volumes")),
	} {
		text, err := json.Marshal(created(t, pod))
		require.NoError(t, err)
		require.NotContains(t, string(text), r.Name, name)
		require.NotContains(t, string(text), "COXSWAIN_SOCKET", name)
		require.NotContains(t, string(text), "65532", name)
	}
}

// A pod that has the sidecar already, such as one from the named templates, gets no second
// one, and its fields stay as they are.
func TestAPIAPodWithTheSidecarIsNotChanged(t *testing.T) {
	t.Parallel()
	_, ns := injects(t)
	pod := created(t, kubetest.Pod(ns, kubetest.Labelled))
	own := kubetest.Pod(ns, kubetest.Labelled)
	kubetest.With(pod.At("spec")["initContainers"], "spec", "initContainers")(own)
	kubetest.With(pod.At("spec")["volumes"], "spec", "volumes")(own)
	kubetest.Sidecar(own)["image"] = "coxswain:of-its-own"
	got := created(t, own)
	require.Equal(t, []string{"coxswain"}, kubetest.Names(got.At("spec")["initContainers"]))
	require.Equal(t, kubetest.Sidecar(own), kubetest.Sidecar(got))
	require.Equal(t, kubetest.Names(pod.At("spec")["volumes"]), kubetest.Names(got.At("spec")["volumes"]))
	// A container with the sidecar's name that is not a native sidecar is refused.
	impostor := kubetest.Pod(ns, kubetest.Labelled, kubetest.With([]any{map[string]any{"name": "coxswain", "image": "x:1"}}, "spec", "initContainers"))
	require.Contains(t, refused(t, impostor), "spec.initContainers[coxswain]: a container of the pod has the sidecar's name and is not a native sidecar")
}

func TestAPISeveralNamespaces(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	home, a, b := kubetest.Namespace(t), kubetest.Namespace(t), kubetest.Namespace(t)
	r := kubetest.Install(t, home, "--set", fmt.Sprintf("injection.namespaces={%s,%s}", a, b))
	for _, ns := range []string{a, b} {
		kubetest.Await(t, ns, kubetest.Injected)
		kubetest.Get(t, "configmap", r.Name+"-sidecar-config", "--namespace", ns)
	}
	require.Nil(t, kubetest.Sidecar(created(t, kubetest.Pod(home, kubetest.Labelled))), "the release's own is not among them")
	// A namespace that is added later.
	r.Helm(t, "upgrade", r.Name, helmtest.Chart(), "--set", fmt.Sprintf("injection.namespaces={%s,%s}", a, home))
	kubetest.Await(t, home, kubetest.Injected)
	kubetest.Poll(t, "the namespace that left is not injected", func() error {
		pod, err := kubetest.DryRun(t, kubetest.Pod(b, kubetest.Labelled))
		if err != nil || kubetest.Sidecar(pod) != nil {
			return fmt.Errorf("injected, or refused: %w", err)
		}
		return nil
	})
	_, err := kubetest.Kubectl(t, "", "get", "configmap", r.Name+"-sidecar-config", "--namespace", b)
	require.ErrorContains(t, err, "not found")
}

// Two releases are independent, and uninstalling one does not change the other.
func TestAPITwoReleases(t *testing.T) {
	t.Parallel()
	first, a := injects(t, "--set", "image.tag=first")
	second, b := injects(t, "--set", "image.tag=second")
	require.Equal(t, "coxswain:first", kubetest.Sidecar(created(t, kubetest.Pod(a, kubetest.Labelled)))["image"])
	require.Equal(t, "coxswain:second", kubetest.Sidecar(created(t, kubetest.Pod(b, kubetest.Labelled)))["image"])
	second.Uninstall(t)
	kubetest.Poll(t, "the second release has gone", func() error {
		pod, err := kubetest.DryRun(t, kubetest.Pod(b, kubetest.Labelled))
		if err != nil || kubetest.Sidecar(pod) != nil {
			return fmt.Errorf("injected, or refused: %w", err)
		}
		return nil
	})
	require.Equal(t, "coxswain:first", kubetest.Sidecar(created(t, kubetest.Pod(a, kubetest.Labelled)))["image"])
	require.NotEqual(t, first.ClusterName(), second.ClusterName())
}

// Two releases for one namespace: helm refuses the second and names the first. If the second one
// is installed in another way, pods still get only one sidecar.
func TestAPITwoReleasesInOneNamespace(t *testing.T) {
	t.Parallel()
	first, ns := injects(t)
	spare := kubetest.Namespace(t)
	second := kubetest.Release{Name: kubetest.Name("r"), Namespace: spare}
	both := []string{second.Name, helmtest.Chart(), "--set", "injection.namespaces={" + ns + "," + spare + "}", "--namespace", spare}
	out, err := helmtest.Helm(t, append([]string{"install"}, both...)...)
	require.Error(t, err)
	require.Contains(t, out, "injection.namespaces: the policy "+first.ClusterName()+" already adds the sidecar to the pods of "+ns)
	first.Helm(t, "upgrade", first.Name, helmtest.Chart(), "--set", "image.tag=next")

	text := second.Helm(t, append([]string{"template", "--kube-version", "1.37.2", "--skip-tests"}, both[:4]...)...)
	kubetest.Must(t, text, "apply", "--filename=-")
	t.Cleanup(func() { kubetest.Must(t, text, "delete", "--filename=-", "--ignore-not-found", "--wait=false") })
	kubetest.Await(t, spare, kubetest.Injected) // and so it is in effect in the other namespace, too
	pod := created(t, kubetest.Pod(ns, kubetest.Labelled))
	connected(t, pod, socket)
	require.Equal(t, []string{"coxswain"}, kubetest.Names(pod.At("spec")["initContainers"]))
	require.Equal(t, []any{float64(65532)}, pod.At("spec", "securityContext")["supplementalGroups"])
}

// A labelled pod without the sidecar is refused, whatever removed the sidecar.
func TestAPIALabelledPodNeverStartsWithoutTheSidecar(t *testing.T) {
	t.Parallel()
	r, ns := injects(t)
	kubetest.Must(t, "", "delete", "mutatingadmissionpolicybinding", r.ClusterName())
	kubetest.Poll(t, "the pod is refused", func() error {
		_, err := kubetest.DryRun(t, kubetest.Pod(ns, kubetest.Labelled))
		want := "spec.initContainers: the pod is labelled coxswain.dev/inject and has no sidecar: the policy " + r.ClusterName()
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("not refused so: %w", err)
		}
		return nil
	})
}
