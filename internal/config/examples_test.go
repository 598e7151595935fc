package config_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

func TestTheExampleForKustomizeIsValid(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{File: "../../examples/kustomize/sidecar.yaml"})
	require.NoError(t, err)
	require.NotEmpty(t, c.Rules.Items)
}

// The ConfigMaps of the chart are valid configurations.
func TestConfigurationsOfTheChartAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../helmtest/testdata/golden/*.yaml")
	require.NoError(t, err)
	found := 0
	for _, file := range append(files, "../../manifests/inject.yaml") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var object struct {
				Data map[string]string `yaml:"data"`
			}
			if err := d.Decode(&object); errors.Is(err, io.EOF) {
				break
			}
			if text, ok := object.Data["sidecar.yaml"]; ok {
				_, err := config.Load(config.Sources{File: write(t, text)})
				require.NoError(t, err, "%s:\n%s", file, text)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 4)
}
