package kubetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// blocks returns the commands of a page, one string per fenced block.
func blocks(page string) []string {
	var found []string
	for _, rest := range strings.Split(page, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(rest, "\n```\n")
		found = append(found, block)
	}
	return found
}

// It runs every command of docs/kubernetes.md, in the page's order. The node has no DNS, so the
// name of the Service of Redis is replaced by its address.
func TestNodeRunsTheCommandsOfThePage(t *testing.T) {
	kubetest.Node(t)
	dir := t.TempDir()
	for _, tree := range []string{"charts", "examples/kustomize", "manifests"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, tree), os.DirFS(filepath.Join(helmtest.Root(), tree))))
	}
	page, err := os.ReadFile(filepath.Join(helmtest.Root(), "docs", "kubernetes.md"))
	require.NoError(t, err)
	all := blocks(string(page))
	require.Greater(t, len(all), 10)
	w := walk(t, dir)
	const redis = "redis://redis:6379"
	judged := 0
	for i, text := range all {
		if i > 0 {
			ip := strings.TrimSpace(w.must("kubectl -n crawlers get service redis -o jsonpath='{.spec.clusterIP}'"))
			text = strings.ReplaceAll(text, redis, "redis://"+ip+":6379")
			file := filepath.Join(dir, "examples", "kustomize", "sidecar.yaml")
			was, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(was), redis, "redis://"+ip+":6379")), 0o600))
		}
		out := w.must(text)
		t.Logf("%s\n%s", text, out)
		for command, says := range map[string]string{
			"helm test": "Succeeded", "get pods -l app=crawler": "coxswain", "kubectl drain": "drained", "probe ready": "ready (",
			"call health.get": `"ready":true`, "wait --for=condition=complete": "condition met", "helm rollback": "Happy Helming",
		} {
			if strings.Contains(text, command) {
				require.Contains(t, out, says, text)
				judged++
			}
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, " logs deployment/crawler -c crawler") {
				kubetest.Poll(t, "the crawler was allowed and refused a call", func() error {
					log := w.must(line)
					if !strings.Contains(log, "\nallowed: ") || !strings.Contains(log, "\nrefused: ask again in ") {
						return errors.New(log)
					}
					return nil
				})
				judged++
			}
		}
	}
	require.Equal(t, 8, judged)
}

// walkthrough runs the commands of a page, in a folder like a checkout.
type walkthrough struct {
	t         *testing.T
	dir, path string
}

// walk makes kubectl and helm available under the names that the page uses.
func walk(t *testing.T, dir string) walkthrough {
	w := walkthrough{t: t, dir: dir, path: t.TempDir()}
	for name, at := range map[string]string{"kubectl": "COXSWAIN_KUBECTL", "helm": "COXSWAIN_HELM"} {
		require.NoError(t, os.Symlink(os.Getenv(at), filepath.Join(w.path, name)))
	}
	return w
}

func (w walkthrough) must(text string) string {
	w.t.Helper()
	out, err := w.run(text)
	if err != nil {
		pods, _ := w.run("kubectl -n crawlers get pods -o wide; kubectl -n crawlers get events | tail -n 30")
		require.NoError(w.t, err, "%s\n%s\n%s", text, out, pods)
	}
	return out
}

func (w walkthrough) run(text string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+w.path+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
