package kubetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// The commands of the README install the chart, and the pods of the Deployment then get the sidecar. The commands that need a
// running pod are not run here: a node runs every one of these commands as a part of docs/kubernetes.md. The test is not parallel,
// since the pages name their namespace.
func TestAPIRunsTheCommandsOfTheReadme(t *testing.T) {
	kubetest.API(t)
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(helmtest.Root(), name))
		require.NoError(t, err)
		return string(text)
	}
	_, section, ok := strings.Cut(page("README.md"), "\n## In Kubernetes\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	commands := blocks(section)
	require.Len(t, commands, 1)
	onNode := "\n" + strings.Join(blocks(page(filepath.Join("docs", "kubernetes.md"))), "\n") + "\n"

	const ns, release = "crawlers", "coxswain"
	w := walk(t, helmtest.Root())
	kubetest.DeleteNamespace(t, ns)
	t.Cleanup(func() { // no controller deletes the objects of a deleted namespace
		kubetest.Release{Name: release, Namespace: ns}.Uninstall(t)
		w.must("kubectl delete --ignore-not-found -f manifests/crawler/script.yaml -f manifests/crawler/deployment.yaml -f manifests/crawler/redis-for-trial.yaml")
	})
	ran := 0
	for line := range strings.Lines(commands[0]) {
		line = strings.TrimSpace(line)
		require.Contains(t, onNode, "\n"+line+"\n", "docs/kubernetes.md does not have this command, so that no node runs it")
		if !strings.HasPrefix(line, "helm test ") && !strings.HasPrefix(line, "kubectl -n crawlers ") {
			t.Logf("%s\n%s", line, w.must(line))
			ran++
		}
	}
	require.Equal(t, 3, ran)

	// The pod that a controller would make from the Deployment.
	pod := kubetest.Object{"apiVersion": "v1", "kind": "Pod"}
	for key, value := range kubetest.Get(t, "deployment", "crawler", "--namespace", ns).At("spec", "template") {
		pod[key] = value
	}
	kubetest.With("crawler-1", "metadata", "name")(pod)
	kubetest.With(ns, "metadata", "namespace")(pod)
	kubetest.Poll(t, "the policy acts in "+ns, func() error {
		got, err := kubetest.DryRun(t, pod)
		if err != nil {
			return err
		}
		return kubetest.Injected(got)
	})
	connected(t, created(t, pod), socket)
	require.Contains(t, kubetest.Get(t, "configmap", release+"-sidecar-config", "--namespace", ns).At("data")["sidecar.yaml"], "redis://redis:6379")
}
