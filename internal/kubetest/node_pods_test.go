package kubetest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
	"github.com/coxswain-sidecar/coxswain/internal/kubetest"
)

// fleet is a namespace with a Redis, the chart and the scripts of crawlers.
type fleet struct {
	t       *testing.T
	ns      string
	release kubetest.Release
}

// crawlers makes a fleet, and waits until the policies are in effect there.
func crawlers(t *testing.T) fleet {
	t.Helper()
	kubetest.Node(t)
	f := fleet{t: t, ns: kubetest.Namespace(t)}
	t.Cleanup(f.tell)
	f.apply("redis.yaml")
	scripts := filepath.Join(helmtest.Root(), "examples", "python", "coxswain.py")
	f.kubectl("create", "configmap", "scripts", "--from-file", scripts,
		"--from-file", fixture("once.py"), "--from-file", fixture("first.py"), "--from-file", fixture("calls.py"), "--from-file", fixture("produce.py"), "--from-file", fixture("work.py"))
	// The node has no DNS.
	redis := f.kubectl("get", "service", "redis", "--output", "jsonpath={.spec.clusterIP}")
	f.kubectl("rollout", "status", "deployment/redis", "--timeout=3m")
	f.release = kubetest.Install(t, f.ns, "--set", "image.tag=e2e", "--set", "http.statusPort=8087", "--set", "config.redis.url=redis://"+redis+":6379")
	kubetest.Await(t, f.ns, kubetest.Injected)
	return f
}

func fixture(name string) string { return filepath.Join("testdata", "node", name) }

// in returns the fleet for a subtest.
func (f fleet) in(t *testing.T) fleet {
	f.t = t
	return f
}

func (f fleet) kubectl(args ...string) string {
	f.t.Helper()
	return kubetest.Must(f.t, "", append(args, "--namespace", f.ns)...)
}

// apply applies a fixture after replacements: words are pairs of a word and its replacement.
func (f fleet) apply(name string, replace ...string) {
	f.t.Helper()
	text, err := os.ReadFile(fixture(name))
	require.NoError(f.t, err)
	kubetest.Must(f.t, strings.NewReplacer(replace...).Replace(string(text)), "apply", "--filename=-", "--namespace", f.ns)
}

// crawler starts a pod that runs a script, and waits until it is ready.
func (f fleet) crawler(name, readiness, script string) {
	f.t.Helper()
	f.apply("crawler.yaml", "NAME", name, "MODE", readiness, "SCRIPT", script)
	f.ready(name, true)
}

// pods returns the pods that a selector selects and that are not being deleted.
func (f fleet) pods(selector string) []kubetest.Object {
	f.t.Helper()
	var pods []kubetest.Object
	for _, pod := range kubetest.List(kubetest.Get(f.t, "pods", "--namespace", f.ns, "--selector", selector)["items"]) {
		if pod.At("metadata")["deletionTimestamp"] == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// ready waits until a pod is ready, or until it is not.
func (f fleet) ready(name string, want bool) {
	f.t.Helper()
	kubetest.Poll(f.t, fmt.Sprintf("pod %s: ready %v", name, want), func() error {
		pod := kubetest.Get(f.t, "pod", name, "--namespace", f.ns)
		if isReady(pod) != want {
			return fmt.Errorf("it is %v: %v", pod.At("status")["phase"], pod.At("status")["conditions"])
		}
		return nil
	})
}

func isReady(pod kubetest.Object) bool {
	for _, c := range kubetest.List(pod.At("status")["conditions"]) {
		if c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

// restarts returns the number of restarts of each container.
func (f fleet) restarts(name string) map[string]int {
	f.t.Helper()
	status := kubetest.Get(f.t, "pod", name, "--namespace", f.ns).At("status")
	n := map[string]int{}
	for _, c := range append(kubetest.List(status["initContainerStatuses"]), kubetest.List(status["containerStatuses"])...) {
		count, _ := c["restartCount"].(float64)
		container, _ := c["name"].(string)
		n[container] = int(count)
	}
	return n
}

// says waits until the log of a container contains a text.
func (f fleet) says(pod, container, text string) {
	f.t.Helper()
	kubetest.Poll(f.t, fmt.Sprintf("the log of %s says %q", pod, text), func() error {
		log, err := kubetest.Kubectl(f.t, "", "logs", pod, "--container", container, "--namespace", f.ns)
		if err == nil && !strings.Contains(log, text) {
			err = errors.New("it does not: " + log[max(0, len(log)-300):])
		}
		return err
	})
}

// call calls a method by the sidecar of a pod, from inside.
func (f fleet) call(pod, method, params string) (string, error) {
	f.t.Helper()
	return kubetest.Kubectl(f.t, "", "exec", pod, "--container", "coxswain", "--namespace", f.ns, "--",
		"/sidecar", "call", "-o", "json", method, params)
}

// tell adds the state of the cluster to the log of a failed test.
func (f fleet) tell() {
	if !f.t.Failed() {
		return
	}
	show := func(args ...string) {
		out, err := kubetest.Kubectl(f.t, "", append(args, "--namespace", f.ns)...)
		f.t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out[max(0, len(out)-8000):])
	}
	show("get", "pods", "--output=wide")
	show("get", "events", "--sort-by=.metadata.creationTimestamp", "--output=custom-columns=OBJECT:.involvedObject.name,REASON:.reason,TEXT:.message")
	for _, pod := range f.pods("coxswain.dev/inject=true") {
		name, _ := pod.At("metadata")["name"].(string)
		show("logs", name, "--all-containers", "--prefix", "--tail=20")
	}
}
