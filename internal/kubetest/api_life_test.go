package kubetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// traces returns all objects of the cluster, of any kind, with the release in their
// names, labelled or not.
func traces(t *testing.T, release string) []string {
	t.Helper()
	kinds := strings.Fields(kubetest.Must(t, "", "api-resources", "--verbs=list", "--output=name"))
	require.Greater(t, len(kinds), 40)
	out := kubetest.Must(t, "", "get", strings.Join(kinds, ","), "--all-namespaces", "--ignore-not-found",
		"--output=custom-columns=KIND:.kind,NAME:.metadata.name", "--no-headers")
	var found []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, release) {
			found = append(found, strings.Join(strings.Fields(line), " "))
		}
	}
	return found
}

// image waits until new pods of a namespace have this image of the sidecar.
func image(t *testing.T, ns, want string) {
	t.Helper()
	kubetest.Await(t, ns, func(pod kubetest.Object) error {
		if got := kubetest.Sidecar(pod)["image"]; got != want {
			return fmt.Errorf("the image is still %v", got)
		}
		return nil
	})
}

func TestAPIUpgradeRollbackUninstall(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	ns := kubetest.Namespace(t)
	r := kubetest.Install(t, ns, "--set", "image.tag=one", "--set", "networkPolicy.enabled=true", "--set", "dashboard.enabled=true")
	image(t, ns, "coxswain:one")
	old, err := kubetest.Create(t, kubetest.Pod(ns, kubetest.Labelled))
	require.NoError(t, err)
	before := traces(t, r.Name)
	for _, want := range []string{
		"MutatingAdmissionPolicy " + r.ClusterName(), "MutatingAdmissionPolicyBinding " + r.ClusterName(),
		"ValidatingAdmissionPolicy " + r.ClusterName(), "ValidatingAdmissionPolicyBinding " + r.ClusterName(),
		"ConfigMap " + r.Name + "-sidecar-config", "Secret sh.helm.release.v1." + r.Name + ".v1",
	} {
		require.Contains(t, before, want)
	}

	// An upgrade that deletes a namespaced object and changes the injected sidecar.
	r.Helm(t, "upgrade", r.Name, helmtest.Chart(), "--set", "image.tag=two", "--set", "socket.path=/run/other/s.sock", "--set", "existingConfig=mine")
	image(t, ns, "coxswain:two")
	connected(t, created(t, kubetest.Pod(ns, kubetest.Labelled)), "/run/other/s.sock")
	require.NotContains(t, traces(t, r.Name), "ConfigMap "+r.Name+"-sidecar-config")
	name, _ := old.At("metadata")["name"].(string)
	require.Equal(t, "coxswain:one", kubetest.Sidecar(kubetest.Get(t, "pod", name, "--namespace", ns))["image"], "pods that run stay as they are")

	r.Helm(t, "rollback", r.Name, "1")
	image(t, ns, "coxswain:one")
	connected(t, created(t, kubetest.Pod(ns, kubetest.Labelled)), socket)
	require.Contains(t, traces(t, r.Name), "ConfigMap "+r.Name+"-sidecar-config")

	r.Uninstall(t)
	require.Empty(t, traces(t, r.Name))
	kubetest.Poll(t, "labelled pods are pods like any other", func() error {
		pod, err := kubetest.DryRun(t, kubetest.Pod(ns, kubetest.Labelled, kubetest.Annotated("readiness", "mostly")))
		if err != nil || kubetest.Sidecar(pod) != nil {
			return fmt.Errorf("injected, or refused: %w", err)
		}
		return nil
	})
}

// A namespace that enforces Pod Security "restricted" accepts the sidecar by its own
// securityContext; only the pod's other containers are refused there.
func TestAPIPodSecurityRestricted(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	ns := kubetest.Namespace(t, "pod-security.kubernetes.io/enforce=restricted")
	restricted := func(pod kubetest.Object) {
		kubetest.With(fields{"runAsNonRoot": true, "seccompProfile": fields{"type": "RuntimeDefault"}}, "spec", "securityContext")(pod)
		for _, c := range kubetest.List(pod.At("spec")["containers"]) {
			c["securityContext"] = fields{"allowPrivilegeEscalation": false, "capabilities": fields{"drop": []any{"ALL"}}}
		}
	}
	kubetest.Install(t, ns, "--set", "redis.passwordSecret.name=redis")
	kubetest.Poll(t, "the policies act", func() error {
		pod, err := kubetest.DryRun(t, kubetest.Pod(ns, kubetest.Labelled, restricted))
		if err != nil {
			return err
		}
		return kubetest.Injected(pod)
	})
	pod, err := kubetest.Create(t, kubetest.Pod(ns, kubetest.Labelled, restricted))
	require.NoError(t, err)
	connected(t, pod, socket)
	text := refused(t, kubetest.Pod(ns, kubetest.Labelled))
	require.Contains(t, text, `violates PodSecurity "restricted:latest"`)
	require.NotContains(t, text, `"coxswain"`, "the sidecar is not what it complains of")
	sidecar := kubetest.Sidecar(pod)
	sidecar["securityContext"] = fields{}
	require.Contains(t, refused(t, kubetest.Pod(ns, kubetest.Labelled, restricted,
		kubetest.With([]any{map[string]any(sidecar)}, "spec", "initContainers"),
		kubetest.With(pod.At("spec")["volumes"], "spec", "volumes"))), `"coxswain"`, "and it would, were its context another")
}

// strictly lets the server validate manifests, and refuse unknown and duplicate fields.
func strictly(t *testing.T, manifests string, from ...string) string {
	t.Helper()
	return kubetest.Must(t, manifests, append([]string{"apply", "--dry-run=server", "--validate=strict"}, from...)...)
}

func TestAPIEveryManifestIsStrictlyValid(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	for _, named := range []string{"crawlers", "spiders"} {
		kubetest.NamespaceCalled(t, named)
	}
	_, err := kubetest.Kubectl(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"crawlers"},"dat":{}}`,
		"apply", "--dry-run=server", "--validate=strict", "--filename=-")
	require.ErrorContains(t, err, `unknown field "dat"`, "strict is strict")

	root := helmtest.Root()
	values, err := filepath.Glob(filepath.Join(root, "internal", "helmtest", "testdata", "values", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, values)
	for _, file := range values {
		out := kubetest.Release{Name: "demo", Namespace: "crawlers"}.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.37.2", "--values", file)
		require.Contains(t, strictly(t, out, "--filename=-"), "(server dry run)", filepath.Base(file))
	}
	for _, dir := range []string{"manifests", "manifests/crawler", "examples/kustomize"} {
		require.Contains(t, strictly(t, "", "--kustomize", filepath.Join(root, dir)), "(server dry run)", dir)
	}
	plain, err := filepath.Glob(filepath.Join(root, "manifests", "*", "*.yaml"))
	require.NoError(t, err)
	plain = append(plain, filepath.Join(root, "manifests", "inject.yaml"))
	require.Greater(t, len(plain), 5)
	applied := 0
	for _, file := range plain {
		if base := filepath.Base(file); base != "kustomization.yaml" && filepath.Base(filepath.Dir(file)) != "component" {
			require.Contains(t, strictly(t, "", "--filename", file), "(server dry run)", base)
			applied++
		}
	}
	require.Greater(t, applied, 5)
}

// dependent renders a user's chart that includes the named templates.
func dependent(t *testing.T, r kubetest.Release, args ...string) kubetest.Object {
	t.Helper()
	dir := helmtest.Dependent(t, "crawler")
	objects, err := helmtest.Parse(r.Helm(t, append([]string{"template", r.Name, dir, "--kube-version", "1.29.0"}, args...)...))
	require.NoError(t, err)
	template := helmtest.One(t, objects, "Deployment", "").At("spec", "template")
	template["apiVersion"], template["kind"] = "v1", "Pod"
	kubetest.With(kubetest.Name("crawler"), "metadata", "name")(template)
	kubetest.With(r.Namespace, "metadata", "namespace")(template)
	return template
}

// The policy injects the same as the named templates render: the server stores the same
// pod either way.
func TestAPIThePolicyInjectsWhatTheTemplatesRender(t *testing.T) {
	t.Parallel()
	kubetest.API(t)
	values, err := filepath.Glob(filepath.Join(helmtest.Root(), "internal", "helmtest", "testdata", "values", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, values)
	for _, file := range values {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ns := kubetest.Namespace(t)
			r := kubetest.Install(t, ns, "--values", file, "--set", "injection.enabled=true,injection.failurePolicy=Fail", "--set", "injection.namespaces={"+ns+"}")
			kubetest.Await(t, ns, kubetest.Injected)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			nested := filepath.Join(t.TempDir(), "values.yaml")
			require.NoError(t, os.WriteFile(nested, []byte("sidecar:\n  "+strings.ReplaceAll(string(text), "\n", "\n  ")), 0o600))
			rendered := created(t, dependent(t, r, "--values", nested, "--set", "sidecar.injection.enabled=false"))

			// The templates take the grace period from a value, the policy from the pod.
			command, _ := kubetest.Sidecar(rendered).At("lifecycle", "preStop", "exec")["command"].([]any)
			grace, err := time.ParseDuration(fmt.Sprint(command[len(command)-1]))
			require.NoError(t, err)
			injected := created(t, kubetest.Pod(ns, kubetest.Labelled,
				kubetest.With([]any{fields{"name": "crawler", "image": "crawler:1"}}, "spec", "containers"),
				kubetest.With(int(grace.Seconds()), "spec", "terminationGracePeriodSeconds")))
			require.Equal(t, kubetest.Sidecar(rendered), kubetest.Sidecar(injected))
			for _, field := range []string{"containers", "volumes", "securityContext"} {
				require.Equal(t, rendered.At("spec")[field], injected.At("spec")[field], field)
			}
		})
	}
}

// The notes name the release, the configuration and the next two commands.
func TestAPITheNotesListTheNextCommands(t *testing.T) {
	t.Parallel()
	r, ns := injects(t, "--set", "redis.passwordSecret.name=pw", "--set", "podMonitor.enabled=true", "--set", "existingConfig=mine")
	notes := r.Helm(t, "get", "notes", r.Name)
	for _, says := range []string{
		"is installed as " + r.Name,
		"get the sidecar in: " + ns,
		"The sidecar reads its configuration from your ConfigMap mine, key sidecar.yaml",
		"kubectl -n " + ns + " create secret generic pw --from-file=password=/dev/stdin",
		"podMonitor.enabled: this cluster has no PodMonitor",
		"helm test " + r.Name + " --namespace " + ns,
		"kubectl -n " + ns + " patch deployment YOUR-CRAWLER",
	} {
		require.Contains(t, notes, says)
	}
}
