package helmtest_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

const monitoringAPI = "monitoring.coreos.com/v1"

// everything switches on all objects that are off by default, for two namespaces.
var everything = []string{
	"--set", "podMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true,networkPolicy.enabled=true",
	"--set", "injection.namespaces={crawlers,spiders}",
}

func kinds(objects []helmtest.Object) map[string]int {
	n := map[string]int{}
	for _, o := range objects {
		n[o.Kind()]++
	}
	return n
}

func TestMonitoringIsOffByDefault(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), "--api-versions", monitoringAPI)
	n := kinds(objects)
	require.Zero(t, n["PodMonitor"]+n["PrometheusRule"]+n["NetworkPolicy"], n)
	require.Equal(t, 1, n["ConfigMap"], "no dashboard")
}

func TestMonitoringIsSkippedWhereTheClusterDoesNotHaveTheKind(t *testing.T) {
	t.Parallel()
	without := kinds(helmtest.Template(t, helmtest.Chart(), everything...))
	require.Zero(t, without["PodMonitor"]+without["PrometheusRule"], without)
	require.Equal(t, 2, without["NetworkPolicy"], "one in each namespace")
	require.Equal(t, 3, without["ConfigMap"], "one in each namespace, and the dashboard")
	with := kinds(helmtest.Template(t, helmtest.Chart(), append(everything, "--api-versions", monitoringAPI)...))
	require.Equal(t, 1, with["PodMonitor"])
	require.Equal(t, 1, with["PrometheusRule"])
}

// A user's label is added, or overrides the chart's; no key occurs twice.
func TestMonitoringObjectsAreFoundByTheirLabels(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), append(everything, "--api-versions", monitoringAPI,
		"--set", "podMonitor.labels.release=prom,prometheusRule.labels.release=prom",
		"--set-string", `dashboard.labels.app\.kubernetes\.io/name=mine`)...)
	for kind, want := range map[string]map[string]string{
		"PodMonitor": {"release": "prom"}, "PrometheusRule": {"release": "prom"}, "NetworkPolicy": {},
		"ConfigMap": {"grafana_dashboard": "1", "app.kubernetes.io/name": "mine"},
	} {
		name := map[string]string{"ConfigMap": "demo-sidecar-dashboard"}[kind]
		found := 0
		for _, o := range objects {
			if o.Kind() != kind || !strings.Contains(o.Name(), name) {
				continue
			}
			found++
			labels := o.At("metadata", "labels")
			require.Equal(t, "demo", labels["app.kubernetes.io/instance"], kind)
			if want["app.kubernetes.io/name"] == "" {
				require.Equal(t, "sidecar", labels["app.kubernetes.io/name"], kind)
			}
			for k, v := range want {
				require.Equal(t, v, labels[k], kind)
			}
		}
		require.NotZero(t, found, kind)
	}
}

func TestThePodMonitorFindsInjectedPods(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), append(everything, "--api-versions", monitoringAPI, "--set", "podMonitor.interval=10s")...)
	spec := helmtest.One(t, objects, "PodMonitor", "demo-sidecar").At("spec")
	require.Equal(t, helmtest.Object{"matchNames": []any{"crawlers", "spiders"}}, spec.At("namespaceSelector"))
	require.Equal(t, helmtest.Object{"coxswain.dev/inject": "true"}, spec.At("selector", "matchLabels"))
	require.Equal(t, []any{map[string]any{"port": "coxswain-http", "path": "/metrics", "interval": "10s"}}, spec["podMetricsEndpoints"])
}

// Without a port to scrape, a PodMonitor and a NetworkPolicy are refused, since they would have no effect.
func TestMonitoringNeedsAPort(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"podMonitor", "networkPolicy"} {
		out, err := helmtest.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.37.2", "--api-versions", monitoringAPI,
			"--set", "probes.type=exec,"+value+".enabled=true")
		require.Error(t, err)
		require.Contains(t, out, value+".enabled: with probes.type exec the sidecar listens on no port; set probes.type to http")
	}
}

func TestTheNetworkPolicyAllowsOnlyTheNamedPeers(t *testing.T) {
	t.Parallel()
	peer := `[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}},"podSelector":{"matchLabels":{"app":"prometheus"}}}]`
	for from, want := range map[string][]any{
		"[]": nil, // an empty list of peers would allow all of them
		peer: {map[string]any{
			"from": []any{map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "monitoring"}},
				"podSelector":       map[string]any{"matchLabels": map[string]any{"app": "prometheus"}},
			}},
			"ports": []any{
				map[string]any{"protocol": "TCP", "port": uint64(9086)}, map[string]any{"protocol": "TCP", "port": "coxswain-http"},
			},
		}},
	} {
		objects := helmtest.Template(t, helmtest.Chart(), append(everything, "--set", "http.port=9086", "--set-json", "networkPolicy.from="+from)...)
		namespaces := map[string]bool{}
		for _, o := range objects {
			if o.Kind() != "NetworkPolicy" {
				continue
			}
			namespaces[o.Namespace()] = true
			spec := helmtest.Object{
				"podSelector": map[string]any{"matchLabels": map[string]any{"coxswain.dev/inject": "true"}},
				"policyTypes": []any{"Ingress"},
			}
			if want != nil {
				spec["ingress"] = want
			}
			require.Equal(t, spec, o.At("spec"))
		}
		require.Equal(t, map[string]bool{"crawlers": true, "spiders": true}, namespaces)
	}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{helmtest.Chart()}, elements...)...))
	require.NoError(t, err)
	return string(text)
}

func TestAlertsAndDashboardAreInstalledUnchanged(t *testing.T) {
	t.Parallel()
	objects := helmtest.Template(t, helmtest.Chart(), append(everything, "--api-versions", monitoringAPI)...)
	dashboard := helmtest.One(t, objects, "ConfigMap", "dashboard")
	require.Equal(t, "crawlers", dashboard.Namespace())
	text, _ := dashboard.At("data")["coxswain.json"].(string)
	require.Equal(t, read(t, "dashboards", "coxswain.json"), text)
	require.True(t, json.Valid([]byte(text)))

	var rules map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alerts", "coxswain.yaml")), &rules))
	require.NotEmpty(t, rules["groups"])
	require.Equal(t, helmtest.Object(rules), helmtest.One(t, objects, "PrometheusRule", "demo-sidecar").At("spec"))
}

func TestTestsOfAlertsAreNotPackaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := helmtest.Helm(t, "package", helmtest.Chart(), "--destination", dir, "--version", "9.9.9")
	require.NoError(t, err, out)
	f, err := os.Open(filepath.Join(dir, "sidecar-9.9.9.tgz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := map[string]bool{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		files[h.Name] = true
		require.NotContains(t, h.Name, "alerts/tests")
	}
	require.Contains(t, files, "sidecar/alerts/coxswain.yaml")
	require.Contains(t, files, "sidecar/dashboards/coxswain.json")
}

// promtool runs Prometheus' own checker of its files, of Debian's package prometheus.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if os.Getenv("COXSWAIN_HELM") == "" {
		t.Skip("COXSWAIN_HELM is not set: make test-chart runs this")
	}
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	require.NoError(t, err, "promtool %s\n%s", strings.Join(args, " "), out)
}

func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", filepath.Join(helmtest.Chart(), "alerts", "coxswain.yaml"))
}

func TestAlertCasesPassInPromtool(t *testing.T) {
	t.Parallel()
	promtool(t, "test", "rules", filepath.Join(helmtest.Chart(), "alerts", "tests", "coxswain.yaml"))
}

// The dashboard's expressions are checked as rules, since promtool does not read dashboards.
func TestPromtoolAcceptsTheDashboardsExpressions(t *testing.T) {
	t.Parallel()
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "dashboards", "coxswain.json")), &board))
	variables := strings.NewReplacer("$__rate_interval", "5m", "$namespace", "a|b", "$pod", ".*")
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, p := range board.Panels {
		for _, e := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("panel:%d", len(rules)), variables.Replace(e.Expr)})
		}
	}
	require.NotEmpty(t, rules)
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	require.NoError(t, err)
	require.NotContains(t, string(text), "$", "a variable that is not replaced here")
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	promtool(t, "check", "rules", file)
}
