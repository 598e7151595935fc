package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// prometheus is one that scrapes a sidecar as a pod's, with the labels that a PodMonitor sets.
type prometheus struct {
	t   *testing.T
	url string
}

func scrapedBy(t *testing.T, target string) *prometheus {
	t.Helper()
	bin, err := exec.LookPath("prometheus")
	require.NoError(t, err, "apt-get install prometheus")
	alerts, err := filepath.Abs(chart + "alerts/coxswain.yaml")
	require.NoError(t, err)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "prometheus.yml"), fmt.Sprintf(`
global: {scrape_interval: 10s, scrape_timeout: 10s, evaluation_interval: 5s} # thousands of series take their time on a busy machine
rule_files: [%s]
scrape_configs:
  - job_name: coxswain
    static_configs: [{targets: [%s], labels: {namespace: crawlers, pod: crawler-1, container: coxswain}}]
`, alerts, target))
	addr := freePort(t)
	var log output
	cmd := exec.Command(bin, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", addr, "--log.level", "warn")
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of prometheus:\n%s", &log)
		}
	})
	p := &prometheus{t, "http://" + addr}
	const twice = "min(count_over_time(coxswain_ready[5m])) > 1 and min(count_over_time(process_cpu_seconds_total[5m])) > 1" // a rate needs two
	require.Eventually(t, func() bool { n, err := p.query(twice); return err == nil && n == 1 }, limit, 200*time.Millisecond, "no two scrapes came")
	return p
}

// get asks the HTTP API, and decodes the data of its answer into to.
func (p *prometheus) get(path string, to any) error {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get(p.url + path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: to}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// query is how many series an expression has now.
func (p *prometheus) query(expr string) (int, error) {
	var data struct{ Result []json.RawMessage }
	err := p.get("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// compared is a comparison with a number, which takes away what is not as bad.
var compared = regexp.MustCompile(`(==|!=|>=|<=|>|<)\s*(bool\s+)?[0-9.^]+`)

// chosen is what a viewer of the dashboard has chosen.
var chosen = strings.NewReplacer("$namespace", "crawlers", "$pod", "crawler-1", "$__rate_interval", "5m")

// silent are the expressions that have no series in a scrape of a sidecar that works, whatever they are compared with, and why.
var silent = map[string]string{
	"alert CoxswainInternalErrors":       "no call answered INTERNAL",
	"alert CoxswainNotReady":             "coxswain_redis_trouble tells a 0, too, which it does not want",
	"alert CoxswainPubsubDropped":        "no subscriber is too slow",
	"alert CoxswainStreamTrimmedPending": "it is noticed when the visibility timeout is over",
}

// evaluated evaluates each expression in a real Prometheus that has scraped the sidecar: it must be one, and have series.
func evaluated(t *testing.T, target string, all []watched) {
	t.Helper()
	p := scrapedBy(t, target)
	for _, w := range all {
		expr := compared.ReplaceAllString(chosen.Replace(w.expr), "")
		n, err := p.query(expr)
		if !assert.NoError(t, err, "%s: %s", w.where, expr) {
			continue
		}
		_, quiet := silent[w.where]
		assert.Equal(t, !quiet, n > 0, "%s: %d series of %s", w.where, n, expr)
		_, err = p.query(chosen.Replace(w.expr))
		assert.NoError(t, err, w.where)
	}
	var loaded struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	rules := func() (n int) {
		loaded.Groups = nil
		if p.get("/api/v1/rules", &loaded) != nil {
			return 0
		}
		for _, g := range loaded.Groups {
			for _, r := range g.Rules {
				if assert.NotEqual(t, "err", r.Health, "%s: %s", r.Name, r.LastError) && r.Health == "ok" {
					n++
				}
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return rules() == len(alerts(t)) }, limit, 100*time.Millisecond, "not all alerts were evaluated")
}
