package helmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

type alert struct {
	Alert       string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alerts", "coxswain.yaml")), &file))
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// headings are the anchors of docs/kubernetes.md.
func headings(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(helmtest.Root(), "docs", "kubernetes.md"))
	require.NoError(t, err)
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(page), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return all
}

func TestEachAlertSaysWhatToDo(t *testing.T) {
	t.Parallel()
	known := headings(t)
	for _, a := range alerts(t) {
		require.Contains(t, []string{"critical", "warning", "info"}, a.Labels["severity"], a.Alert)
		require.NotEmpty(t, a.Annotations["summary"], a.Alert)
		require.NotEmpty(t, a.Annotations["description"], a.Alert)
		page, anchor, _ := strings.Cut(a.Annotations["runbook_url"], "#")
		require.Equal(t, "https://github.com/coxswain-sidecar/coxswain/blob/main/docs/kubernetes.md", page, a.Alert)
		require.Contains(t, known, anchor, "%s: docs/kubernetes.md has no such heading", a.Alert)
	}
}

// That promtool's tests pass says nothing of an alert that none of them is about.
func TestEachAlertHasACaseInWhichItFiresAndOneInWhichItIsSilent(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			Name    string
			Samples []struct {
				Expr     string
				Expected []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alerts", "tests", "coxswain.yaml")), &file))
	fires, silent := map[string]string{}, map[string]string{}
	for _, c := range file.Tests {
		fired := map[string]bool{}
		asked := map[string]bool{}
		for _, s := range c.Samples {
			asked[s.Expr] = true
			fired[s.Expr] = fired[s.Expr] || len(s.Expected) > 0
		}
		for expr := range asked {
			if fired[expr] {
				fires[expr] = c.Name
			} else {
				silent[expr] = c.Name
			}
		}
	}
	for _, a := range alerts(t) {
		expr := fmt.Sprintf("ALERTS{alertname=%q,alertstate=\"firing\"}", a.Alert)
		require.NotEmpty(t, fires[expr], "no case in which %s fires", a.Alert)
		require.NotEmpty(t, silent[expr], "no case in which %s is silent all the time", a.Alert)
	}
	require.Len(t, fires, len(alerts(t)), "a case is about an alert that is not there")
}
