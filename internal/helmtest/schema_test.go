package helmtest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/helmtest"
)

// Each file in testdata/mistakes has one mistake; its first line is a part of the text with which
// the schema or a template must refuse it.
func TestMistakesAreRefused(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/mistakes/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 15)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			line, _, _ := strings.Cut(string(text), "\n")
			want, ok := strings.CutPrefix(line, "# ")
			require.True(t, ok && want != "", "the first line has no expected text")
			out, err := helmtest.Helm(t, "template", "demo", helmtest.Chart(), "--kube-version", "1.37.2", "--values", file)
			require.Error(t, err, "helm accepts it")
			require.Contains(t, out, want)
		})
	}
}

// The chart accepts every key that the sidecar reads, except those that
// the chart sets itself.
func TestTheSchemaHasEveryKeyOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"full.yaml", "login.yaml"} {
		text, err := os.ReadFile(filepath.Join(helmtest.Root(), "internal", "config", "testdata", name))
		require.NoError(t, err)
		var sections map[string]any
		require.NoError(t, yaml.Unmarshal(text, &sections))
		delete(sections, "http")
		if socket, ok := sections["socket"].(map[string]any); ok {
			delete(socket, "path")
			socket["mode"] = "0600"
		}
		delete(sections["redis"].(map[string]any), "password_file")
		// In JSON a word such as off differs from false.
		values, err := json.Marshal(map[string]any{"config": sections})
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, values, 0o600))
		configMap := helmtest.One(t, helmtest.Template(t, helmtest.Chart(), "--values", file), "ConfigMap", "config")
		var rendered map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(configMap.At("data")["sidecar.yaml"].(string)), &rendered))
		for section := range sections {
			require.Contains(t, rendered, section, name)
		}
	}
}

// A section without keys means its defaults in the configuration file, and so it does in the chart.
func TestASectionWithoutKeysMeansItsDefaults(t *testing.T) {
	t.Parallel()
	values := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(values, []byte(`config:
  socket:
    admin:
    allowed_uids:
  redis:
    url: redis://redis:6379
    tls:
    pool:
  limits:
  telemetry:
  readiness:
  rules:
    files:
    items:
      - {name: a, algorithm: token_bucket, limits: [{limit: 1, period_ms: 1000}], deny_cache: off, allow: , penalty: }
  breakers:
`), 0o600))
	text := helmtest.One(t, helmtest.Template(t, helmtest.Chart(), "--values", values), "ConfigMap", "config").At("data")["sidecar.yaml"].(string)
	file := filepath.Join(t.TempDir(), "sidecar.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	got, err := config.Load(config.Sources{File: file})
	require.NoError(t, err, text)
	want := config.Default()
	require.Equal(t, want.Limits, got.Limits)
	require.Equal(t, want.Socket, got.Socket)
	require.Equal(t, api.OnOff("off"), got.Rules.Items[0].DenyCache)
}
