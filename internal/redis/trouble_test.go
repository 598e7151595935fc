package redis_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

func TestEveryTroubleIsFoundByACheckOfDoctor(t *testing.T) {
	t.Parallel()
	for name, check := range redis.TroubleChecks() {
		require.Contains(t, doctor.IDs(), check, name)
	}
}

func TestEveryTroubleIsInThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/redis.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n## What Redis says\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, name := range redis.TroubleNames() {
		require.Contains(t, section, "`"+name+"`")
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` ").FindAllStringSubmatch(section, -1) {
		require.Contains(t, redis.TroubleNames(), m[1])
	}
}
