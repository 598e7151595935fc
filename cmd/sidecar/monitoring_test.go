package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const chart = "../../charts/sidecar/"

// watched is an expression of an alert or of the dashboard, with the labels that
// the text beside it shows.
type watched struct {
	where, expr string
	shown       []string
}

var (
	shownByAlert  = regexp.MustCompile(`\$labels\.(\w+)`)
	shownByLegend = regexp.MustCompile(`\{\{ *(\w+) *\}\}`)
	labelValues   = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

func texts(found [][]string) []string {
	var all []string
	for _, m := range found {
		all = append(all, m[1])
	}
	return all
}

func alerts(t *testing.T) []watched {
	t.Helper()
	text, err := os.ReadFile(chart + "alerts/coxswain.yaml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	var all []watched
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			w := watched{where: "alert " + r.Alert, expr: r.Expr}
			for _, a := range r.Annotations {
				w.shown = append(w.shown, texts(shownByAlert.FindAllStringSubmatch(a, -1))...)
			}
			all = append(all, w)
		}
	}
	return all
}

func dashboard(t *testing.T) []watched {
	t.Helper()
	text, err := os.ReadFile(chart + "dashboards/coxswain.json")
	require.NoError(t, err)
	var file struct {
		Templating struct {
			List []struct {
				Name, Type, Definition string
			}
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	var all []watched
	for _, v := range file.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		require.NotNil(t, m, "variable %s: %s", v.Name, v.Definition)
		all = append(all, watched{"variable " + v.Name, m[1], []string{m[2]}})
	}
	for _, p := range file.Panels {
		for _, e := range p.Targets {
			all = append(all, watched{"panel " + p.Title, e.Expr, texts(shownByLegend.FindAllStringSubmatch(e.LegendFormat, -1))})
		}
	}
	return all
}

// told is what a scrape holds: the values of each label of each series' name.
type told map[string]map[string][]string

func scrapeOf(t *testing.T, text string) told {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	all := told{"up": {}} // Prometheus' own word of each target
	for name, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetType() != dto.MetricType_HISTOGRAM {
				all.add(name, m.GetLabel())
				continue
			}
			all.add(name+"_count", m.GetLabel())
			all.add(name+"_sum", m.GetLabel())
			all.add(name+"_bucket", m.GetLabel())
			all[name+"_bucket"]["le"] = nil
		}
	}
	return all
}

func (a told) add(name string, labels []*dto.LabelPair) {
	if a[name] == nil {
		a[name] = map[string][]string{}
	}
	for _, l := range labels {
		a[name][l.GetName()] = append(a[name][l.GetName()], l.GetValue())
	}
}

// ofTarget are the labels that a PodMonitor gives to every series.
var ofTarget = []string{"namespace", "pod", "container"}

// wrong is everything that an expression names and that no scrape holds; means
// says whether a page knows a value that is not in this one.
func (a told) wrong(w watched, means func(metric, label, value string) bool) []string {
	asked, err := readPromQL(w.expr)
	if err != nil {
		return []string{err.Error()}
	}
	if len(asked.selectors) == 0 {
		return []string{"it names no metric"}
	}
	var found []string
	known := slices.Clone(ofTarget)
	for _, s := range asked.selectors {
		labels, ok := a[s.metric]
		if !ok {
			found = append(found, "no metric "+s.metric)
			continue
		}
		for l := range labels {
			known = append(known, l)
		}
		for _, m := range s.matchers {
			if values, ok := labels[m.label]; ok {
				for _, v := range strings.Split(m.value, "|") {
					if v != "" && !slices.Contains(values, v) && !means(s.metric, m.label, v) {
						found = append(found, fmt.Sprintf("no value %s of %s{%s}", v, s.metric, m.label))
					}
				}
			} else if !slices.Contains(ofTarget, m.label) {
				found = append(found, fmt.Sprintf("no label %s of %s", m.label, s.metric))
			}
		}
	}
	for _, l := range slices.Concat(asked.grouped...) {
		if !slices.Contains(known, l) {
			found = append(found, "no label "+l)
		}
	}
	for _, l := range w.shown {
		if !slices.Contains(known, l) || slices.ContainsFunc(asked.by, func(by []string) bool { return !slices.Contains(by, l) }) {
			found = append(found, "it shows "+l+", which its result does not have")
		}
	}
	return found
}

// documentedValues says whether docs/telemetry.md has a value in the row of a
// metric, or docs/protocol.md a code.
func documentedValues(t *testing.T) func(metric, label, value string) bool {
	t.Helper()
	metrics, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	protocol, err := os.ReadFile("../../docs/protocol.md")
	require.NoError(t, err)
	return func(metric, label, value string) bool {
		if label == "code" {
			return strings.Contains(string(protocol), "\n| `"+value+"` | ")
		}
		for row := range strings.Lines(string(metrics)) {
			if strings.Contains(row, "| `"+metric+"` |") {
				return strings.Contains(row, "`"+value+"`")
			}
		}
		return false
	}
}

// An alert on a name that no sidecar tells never fires, and nobody notices.
func TestAlertsAndDashboardUseOnlyMetricsOfASidecar(t *testing.T) {
	t.Parallel()
	u := useEverything(t)
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	documented := names(string(page))
	var text string
	var missing []string
	if !assert.Eventually(t, func() bool { // no reply waits for some
		var families map[string]*dto.MetricFamily
		text, families = u.scrape(t)
		missing = slices.DeleteFunc(slices.Clone(documented), func(d string) bool {
			name, _, _ := strings.Cut(d, " ")
			return families[name] != nil
		})
		return len(missing) == 0
	}, limit, 5*time.Millisecond) {
		t.Fatalf("documented, and not told: use what they count: %v", missing)
	}
	all := scrapeOf(t, text)
	means := documentedValues(t)
	watches := append(alerts(t), dashboard(t)...)
	for _, w := range watches {
		for _, problem := range all.wrong(w, means) {
			t.Errorf("%s: %s: %s", w.where, problem, w.expr)
		}
	}
	evaluated(t, u.http, watches)
}

func TestAnUnknownMetricInAnExpressionIsFound(t *testing.T) {
	t.Parallel()
	all := told{"a_total": {"rule": {"x"}}, "b_bucket": {"le": nil}}
	means := func(metric, label, value string) bool {
		return metric == "a_total" && label == "rule" && value == "documented"
	}
	for expr, want := range map[string]string{
		`sum(rate(a_totl[5m]))`:                        "no metric a_totl",
		`a_total{rul="x"}`:                             "no label rul of a_total",
		`a_total{rule=~"x|documented|z"}`:              "no value z of a_total{rule}",
		`sum by (ruel) (a_total)`:                      "no label ruel",
		`sum by (pod) (a_total) / sum by () (a_total)`: "it shows pod, which its result does not have",
		`1 > 0`:     "it names no metric",
		`{pod="x"}`: `a selector without the name of a metric in {pod="x"}`,
	} {
		require.Equal(t, []string{want}, all.wrong(watched{expr: expr, shown: shownBy(expr)}, means), expr)
	}
	for _, expr := range []string{
		`sum by (pod, rule) (a_total{container="any",namespace=~"$n",rule!="documented"}) > 0`,
		`histogram_quantile(0.99, sum by (pod, le) (rate(b_bucket[$__rate_interval])))`,
	} {
		require.Empty(t, all.wrong(watched{expr: expr, shown: []string{"pod"}}, means), expr)
	}
}

// shownBy is the pod where an expression has it among its results at all.
func shownBy(expr string) []string {
	if strings.Contains(expr, "by (pod)") {
		return []string{"pod"}
	}
	return nil
}
