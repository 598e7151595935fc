package helmtest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

var update = flag.Bool("update", false, "write what is compared")

// compare compares text with a file, or with -update writes the file.
func compare(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "%s: make docs writes it", filepath.Base(file))
}

func render(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helmtest.Helm(t, append([]string{"template"}, args...)...)
	require.NoError(t, err, out)
	return out
}

func TestGoldenRenders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/values/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := render(t, "demo", helmtest.Chart(), "--namespace", "crawlers", "--kube-version", "1.37.2",
				"--api-versions", "monitoring.coreos.com/v1", "--values", file)
			compare(t, filepath.Join("testdata", "golden", name), text)
		})
	}
}

// A user's chart includes the named templates, on a Kubernetes without mutating
// policies.
func TestNamedTemplatesInAnotherChart(t *testing.T) {
	t.Parallel()
	text := render(t, "demo", helmtest.Dependent(t, "crawler"), "--namespace", "crawlers", "--kube-version", "1.29.0")
	compare(t, "testdata/golden/dependent.yaml", text)
	require.NotContains(t, text, "AdmissionPolicy")
}

func TestPoliciesNeedTheirKubernetes(t *testing.T) {
	t.Parallel()
	out, err := helmtest.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.35.9")
	require.Error(t, err)
	require.Contains(t, out, "injection.enabled: the policies need Kubernetes 1.36 or later, and this is v1.35.9")
	out, err = helmtest.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.28.0", "--set", "injection.enabled=false")
	require.Error(t, err)
	require.Contains(t, out, "chart requires kubeVersion: >=1.29.0-0")
}

// A second variable of the same name would override the first one in the sidecar only.
func TestVariablesThatTheChartSetsItselfAreRefused(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]string{
		"COXSWAIN_SOCKET": "socket.path", "COXSWAIN_CONFIG": "existingConfig", "COXSWAIN_HTTP_ADDR": "http.port",
		"COXSWAIN_HTTP_STATUS_ADDR":    "http.statusPort",
		"COXSWAIN_TELEMETRY_LOG_LEVEL": "logLevel", "COXSWAIN_READINESS_MODE": "readiness.mode",
		"COXSWAIN_REDIS_PASSWORD_FILE": "redis.passwordSecret",
	} {
		out, err := helmtest.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.37.2", "--set", "env."+name+"=x")
		require.Error(t, err)
		require.Contains(t, out, "env."+name+": the chart sets this variable itself; use "+use)
	}
}

// Releases get policies of different names even if joining namespace and name gives
// the same text.
func TestNoTwoReleasesShareAPolicy(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for release, namespace := range map[string]string{"a": "b-c", "a-b": "c", "a.b": "c"} {
		objects, err := helmtest.Parse(render(t, release, helmtest.Chart(), "--namespace", namespace, "--kube-version", "1.37.2"))
		require.NoError(t, err)
		names[helmtest.One(t, objects, "MutatingAdmissionPolicy", "").Name()] = true
	}
	require.Len(t, names, 3)
}

// The chart puts values into texts of CEL and YAML; no value can end the literal that
// it is in.
func TestValuesCannotLeaveTheirLiterals(t *testing.T) {
	t.Parallel()
	values := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(values, []byte(`env: {A: 'x" + string(1) + "', B: "{{ .Release.Name }}'"}`), 0o600))
	objects := helmtest.Template(t, helmtest.Chart(), "--values", values)
	policy := helmtest.One(t, objects, "MutatingAdmissionPolicy", "")
	mutations, _ := policy.At("spec")["mutations"].([]any)
	patch, _ := mutations[1].(map[string]any)
	text, _ := helmtest.Object(patch).At("jsonPatch")["expression"].(string)
	require.Contains(t, text, `value: "x\" + string(1) + \""`)
	require.Contains(t, text, `value: "{{ .Release.Name }}`)
}

// The plain manifests are the chart, rendered once.
func TestManifestsAreTheChart(t *testing.T) {
	t.Parallel()
	manifests := filepath.Join(helmtest.Root(), "manifests")
	const head = "# Made from charts/sidecar by make docs.\n"
	plain := func(text string) string {
		var b strings.Builder
		b.WriteString(head)
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "# Source") && !strings.Contains(line, "helm.sh/chart:") && !strings.Contains(line, "managed-by: Helm") {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	compare(t, filepath.Join(manifests, "inject.yaml"),
		plain(render(t, "coxswain", helmtest.Chart(), "--namespace", "crawlers", "--kube-version", "1.37.2", "--skip-tests")))
	component := helmtest.Dependent(t, "component")
	for _, name := range []string{"workload.yaml", "cronjob.yaml"} {
		compare(t, filepath.Join(manifests, "component", name), plain(render(t, "coxswain", component, "--kube-version", "1.29.0",
			"--show-only", "templates/"+name)))
	}
	script, err := os.ReadFile(filepath.Join(helmtest.Root(), "examples", "python", "coxswain.py"))
	require.NoError(t, err)
	config := "# Made from examples/python by make docs.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: crawler\n  namespace: crawlers\ndata:\n  coxswain.py: |\n"
	for line := range strings.Lines(string(script)) {
		if line = "    " + line; strings.TrimSpace(line) == "" {
			line = "\n"
		}
		config += line
	}
	compare(t, filepath.Join(manifests, "crawler", "script.yaml"), config)
}
