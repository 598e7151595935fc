package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

func TestOptionsThatCannotWorkAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    lua.Options
		want string
	}{
		"no url":         {lua.Options{}, "redis://host:6379/0"},
		"bare address":   {lua.Options{URL: "localhost:6379"}, "redis://host:6379/0"},
		"unknown scheme": {lua.Options{URL: "memcached://localhost"}, "embedded"},
		"no host":        {lua.Options{URL: "redis:///1"}, "redis url: it names no host"},
		"lone key":       {lua.Options{URL: "rediss://a", TLS: redis.TLSFiles{Key: "k"}}, "redis.tls.cert_file and redis.tls.key_file"},
		"files, no TLS":  {lua.Options{URL: "redis://a", TLS: redis.TLSFiles{CA: "c"}}, "rediss"},
		"pool":           {lua.Options{URL: redis.Embedded, MinIdle: 9, MaxConns: 3}, "min_idle 9 and max 3"},
		"no pool":        {lua.Options{URL: redis.Embedded, MaxConns: -1}, "max >= 1"},
		"timeouts":       {lua.Options{URL: redis.Embedded, DialTimeout: -time.Second}, "more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lua.Open(c.o)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestEmbeddedStoreIsAnnouncedAndPrivate(t *testing.T) {
	t.Parallel()
	var log noise
	a := luatest.Open(t, lua.Options{URL: redis.Embedded, Log: logTo(&log)})
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "embedded store")
	_, err := take(luatest.Deadline(t), a, "k", 5)
	require.NoError(t, err)
	require.Zero(t, spent(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), "k", 5))
}
