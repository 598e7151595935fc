package config_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

func TestWhatWasPrintedIsComparedWithoutSecrets(t *testing.T) {
	t.Parallel()
	load := func(env ...string) *config.Config {
		c, err := config.Load(config.Sources{File: "testdata/full.yaml", Env: env})
		require.NoError(t, err)
		return c
	}
	var text bytes.Buffer
	c := load()
	require.NoError(t, c.Print(&text))
	printed, err := config.Printed(text.String())
	require.NoError(t, err)
	require.Empty(t, c.Unlike(printed))
	require.Equal(t, []string{"http.addr", "limits.max_depth"}, load("COXSWAIN_HTTP_ADDR=:1", "COXSWAIN_LIMITS_MAX_DEPTH=5").Unlike(printed))
	_, err = config.Printed("of_another_version: {}\n")
	require.ErrorContains(t, err, "unknown key")
}
