// Package kubetest asks a real Kubernetes about the chart, through kubectl and
// helm as a user does; for tests only.
//
// Its tests run where COXSWAIN_KUBE says which one there is, as `make e2e-api` and
// `make e2e-node` do: TestAPI* on an API server without controllers, TestNode* on a
// node. Each test has namespaces and a release of its own, so that they run side by
// side. It does not start anything: hack/kube does.
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

// Object is a manifest, or what the server made of it.
type Object = helmtest.Object

// limit is how long Poll tries: far more than an idle machine needs.
const limit = 2 * time.Minute

// API skips the test where no API server is there for it.
func API(t testing.TB) {
	t.Helper()
	if os.Getenv("COXSWAIN_KUBE") != "api" {
		t.Skip("COXSWAIN_KUBE is not api: make e2e-api runs this")
	}
}

// Node skips the test where no node is there for it.
func Node(t testing.TB) {
	t.Helper()
	if os.Getenv("COXSWAIN_KUBE") != "node" {
		t.Skip("COXSWAIN_KUBE is not node: make e2e-node runs this")
	}
}

// run is a command with input on its standard input. A cleanup outlives the
// context of its test.
func run(ctx context.Context, bin, input string, args ...string) (string, error) {
	out, _, err := runHeard(ctx, bin, input, args...)
	return out, err
}

// runHeard also returns what the command says beside its output.
func runHeard(ctx context.Context, bin, input string, args ...string) (out, complaint string, err error) {
	var said, complained bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, args...) //nolint:gosec // the binary that the test was given
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &said, &complained
	if err := cmd.Run(); err != nil {
		return said.String(), complained.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, complained.String())
	}
	return said.String(), complained.String(), nil
}

// Kubectl runs kubectl with input on its standard input and returns what it
// prints; the error has what it complained of.
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

// Must is Kubectl where it has to succeed.
func Must(t testing.TB, input string, args ...string) string {
	t.Helper()
	out, err := Kubectl(t, input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Create creates an object and returns what the server made of it.
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

// DryRun is what the server would make of an object, admission included.
func DryRun(t testing.TB, o Object) (Object, error) {
	t.Helper()
	return Create(t, o, "--dry-run=server")
}

// Warnings is DryRun with what the server warns of.
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

// Name is one that no other test has.
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

// NamespaceCalled is Namespace where manifests say the name.
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
			// What the controller does when the namespace is empty; here nobody else would.
			Must(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"},"spec":{"finalizers":[]}}`,
				"replace", "--raw", "/api/v1/namespaces/"+name+"/finalize", "--filename=-")
		}
	})
}

// Poll tries until it succeeds. A change of a policy takes about a second to act.
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

// Uninstall takes the release back, once or again.
func (r Release) Uninstall(t testing.TB) {
	t.Helper()
	r.Helm(t, "uninstall", r.Name, "--ignore-not-found", "--wait")
}

// ClusterName is that of the release's cluster-scoped objects.
func (r Release) ClusterName() string { return r.Namespace + "." + r.Name + ".sidecar" }

// Await waits until the policies of a release act in a namespace: a labelled pod
// comes out as want has it, and one with a wrong annotation is refused.
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

// Injected is nil where the sidecar is first among the init containers.
func Injected(pod Object) error {
	if first := Sidecar(pod); first == nil {
		return fmt.Errorf("no sidecar is first among %v", Names(pod.At("spec")["initContainers"]))
	}
	return nil
}
