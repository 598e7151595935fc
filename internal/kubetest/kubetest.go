// Package kubetest tests the chart on a real Kubernetes, through kubectl and
// helm as a user does; for tests only.
//
// Its tests run if COXSWAIN_KUBE is set, as in `make e2e-api` and `make e2e-node`:
// TestAPI* on an API server without controllers (api), TestNode* on a node (node).
// Each test has its own namespaces and its own release, so that they run in
// parallel. It starts no servers: hack/kube does.
package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

// Object is a manifest, or the object that the server made from it.
type Object = helmtest.Object

// limit is how long Poll tries: much longer than an idle machine needs.
const limit = 2 * time.Minute

// API skips the test if there is no API server.
func API(t testing.TB) {
	t.Helper()
	if os.Getenv("COXSWAIN_KUBE") != "api" {
		t.Skip("COXSWAIN_KUBE is not api: make e2e-api runs this")
	}
}

// Node skips the test if there is no node.
func Node(t testing.TB) {
	t.Helper()
	if os.Getenv("COXSWAIN_KUBE") != "node" {
		t.Skip("COXSWAIN_KUBE is not node: make e2e-node runs this")
	}
}

// run runs a command with input on its standard input. It does not use the context
// of the test, which ends before the test's cleanups.
func run(ctx context.Context, bin, input string, args ...string) (string, error) {
	out, _, err := runHeard(ctx, bin, input, args...)
	return out, err
}

// runHeard also returns the standard error of the command.
func runHeard(ctx context.Context, bin, input string, args ...string) (out, complaint string, err error) {
	var said, complained bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...) //nolint:gosec // the binary that the test was given
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &said, &complained
	if err := cmd.Run(); err != nil {
		return said.String(), complained.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, complained.String())
	}
	return said.String(), complained.String(), nil
}

// Kubectl runs kubectl with input on its standard input and returns its output;
// the error includes its standard error.
func Kubectl(t testing.TB, input string, args ...string) (string, error) {
	t.Helper()
	return run(context.WithoutCancel(t.Context()), os.Getenv("COXSWAIN_KUBECTL"), input, args...)
}

// Forward runs `kubectl port-forward` from a free port of this machine to a port of a pod until the test ends, and returns
// the address here, host:port.
func Forward(t testing.TB, namespace, pod string, port int) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, os.Getenv("COXSWAIN_KUBECTL"), //nolint:gosec // the binary that the test was given
		"port-forward", "--namespace", namespace, "pod/"+pod, fmt.Sprintf(":%d", port))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() { // Forwarding from 127.0.0.1:40001 -> 8087
		if at, found := strings.CutPrefix(lines.Text(), "Forwarding from "); found {
			at, _, _ = strings.Cut(at, " ")
			return at
		}
	}
	cancel()
	_ = cmd.Wait()
	t.Fatalf("kubectl port-forward forwards nothing: %s", complaint.String())
	return ""
}

// Must runs Kubectl and fails the test if that fails.
func Must(t testing.TB, input string, args ...string) string {
	t.Helper()
	out, err := Kubectl(t, input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Create creates an object and returns it as the server stored it.
func Create(t testing.TB, o Object, flags ...string) (Object, error) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	out, err := Kubectl(t, string(text), append([]string{"create", "-f", "-", "-o", "json"}, flags...)...)
	if err != nil {
		return nil, err
	}
	return parse(out)
}

// DryRun returns an object as the server would store it, after admission.
func DryRun(t testing.TB, o Object) (Object, error) {
	t.Helper()
	return Create(t, o, "--dry-run=server")
}

// Warnings is DryRun that also returns the server's warnings.
func Warnings(t testing.TB, o Object) (made Object, warnings string, err error) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		return nil, "", fmt.Errorf("create: %w", err)
	}
	out, warnings, err := runHeard(context.WithoutCancel(t.Context()), os.Getenv("COXSWAIN_KUBECTL"), string(text),
		"create", "--dry-run=server", "-f", "-", "-o", "json")
	if err != nil {
		return nil, warnings, err
	}
	made, err = parse(out)
	return made, warnings, err
}

// Get reads an object.
func Get(t testing.TB, args ...string) Object {
	t.Helper()
	o, err := parse(Must(t, "", append([]string{"get", "-o", "json"}, args...)...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func parse(text string) (Object, error) {
	var o Object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return nil, fmt.Errorf("kubectl printed no object: %w", err)
	}
	return o, nil
}

// Name returns a name that no other test uses.
func Name(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:8]) }

// Namespace makes a namespace with these labels, KEY=VALUE, and deletes it when
// the test ends.
func Namespace(t testing.TB, labels ...string) string {
	t.Helper()
	name := Name("crawlers")
	NamespaceCalled(t, name)
	if len(labels) > 0 {
		Must(t, "", append([]string{"label", "namespace", name}, labels...)...)
	}
	return name
}

// NamespaceCalled is Namespace with a name that manifests require.
func NamespaceCalled(t testing.TB, name string) {
	t.Helper()
	Must(t, "", "create", "namespace", name)
	DeleteNamespace(t, name)
}

// DeleteNamespace deletes a namespace when the test ends.
func DeleteNamespace(t testing.TB, name string) {
	t.Helper()
	t.Cleanup(func() {
		Must(t, "", "delete", "namespace", name, "--wait=false")
		if os.Getenv("COXSWAIN_KUBE") == "api" {
			// The controller would do this when the namespace is empty, but no controller runs here.
			Must(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"},"spec":{"finalizers":[]}}`,
				"replace", "--raw", "/api/v1/namespaces/"+name+"/finalize", "--filename=-")
		}
	})
}

// Poll calls try until it succeeds. A change of a policy takes effect after about a second.
func Poll(t testing.TB, what string, try func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("%s: still not after %v: %v", what, limit, err)
		}
	}
}

// Release is an installed chart.
type Release struct{ Name, Namespace string }

// Install installs the project's chart, with further arguments of helm, and
// uninstalls it when the test ends.
func Install(t testing.TB, namespace string, args ...string) Release {
	t.Helper()
	r := Release{Name: Name("r"), Namespace: namespace}
	t.Cleanup(func() { r.Uninstall(t) })
	r.Helm(t, append([]string{"install", r.Name, helmtest.Chart()}, args...)...)
	return r
}

// Helm runs helm in the namespace of the release.
func (r Release) Helm(t testing.TB, args ...string) string {
	t.Helper()
	out, err := run(context.WithoutCancel(t.Context()), os.Getenv("COXSWAIN_HELM"), "", append(args, "--namespace", r.Namespace)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Uninstall uninstalls the release. It may be called again.
func (r Release) Uninstall(t testing.TB) {
	t.Helper()
	r.Helm(t, "uninstall", r.Name, "--ignore-not-found", "--wait")
}

// ClusterName is the name of the release's cluster-scoped objects.
func (r Release) ClusterName() string { return r.Namespace + "." + r.Name + ".sidecar" }

// Await waits until the policies of a release are in effect in a namespace: want
// accepts a labelled pod, and one with a wrong annotation is refused.
func Await(t testing.TB, namespace string, want func(pod Object) error) {
	t.Helper()
	Poll(t, "the policies act in "+namespace, func() error {
		pod, err := DryRun(t, Pod(namespace, Labelled))
		if err != nil {
			return err
		}
		if err := want(pod); err != nil {
			return err
		}
		_, err = DryRun(t, Pod(namespace, Labelled, Annotated("readiness", "mostly")))
		if err == nil || !strings.Contains(err.Error(), "metadata.annotations[coxswain.dev/readiness]") {
			return fmt.Errorf("a wrong annotation is not refused yet: %w", errors.Join(err))
		}
		return nil
	})
}

// Injected returns nil if the sidecar is the first of the init containers.
func Injected(pod Object) error {
	if first := Sidecar(pod); first == nil {
		return fmt.Errorf("the first of the init containers %v is not the sidecar", Names(pod.At("spec")["initContainers"]))
	}
	return nil
}
