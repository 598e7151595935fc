package helmtest_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// runbooks returns the sections of docs/runbooks.md that are about an alert, each with its text.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(helmtest.Root(), "docs", "runbooks.md"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		require.NotContains(t, all, name, "it has two sections")
		all[name] = text
	}
	return all
}

func TestEachAlertHasARunbookAndEachRunbookAnAlert(t *testing.T) {
	t.Parallel()
	books := runbooks(t)
	for _, a := range alerts(t) {
		require.Contains(t, []string{"critical", "warning", "info"}, a.Labels["severity"], a.Alert)
		require.NotEmpty(t, a.Annotations["summary"], a.Alert)
		require.NotEmpty(t, a.Annotations["description"], a.Alert)
		require.Equal(t, "https://github.com/coxswain-sidecar/coxswain/blob/main/docs/runbooks.md#"+strings.ToLower(a.Alert),
			a.Annotations["runbook_url"], a.Alert)
		require.Contains(t, books, a.Alert, "docs/runbooks.md has no section of this alert")
		for _, part := range []string{"- **Impact:** ", "- **Check:** ", "- **Fix:** "} {
			require.Contains(t, books[a.Alert], part, a.Alert)
		}
		delete(books, a.Alert)
	}
	require.Empty(t, books, "docs/runbooks.md has sections of alerts that are not there")
}

// promtool does not report an alert without tests.
func TestEachAlertHasACaseThatFiresAndOneThatDoesNot(t *testing.T) {
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
