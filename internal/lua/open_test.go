package lua_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

func TestOptionsThatCannotWorkAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    lua.Options
		want string
	}{
		"no url":         {lua.Options{}, "redis://[user:password@]host:port[/db]"},
		"bare address":   {lua.Options{URL: "localhost:6379"}, "redis://[user:password@]host:port[/db]"},
		"unknown scheme": {lua.Options{URL: "memcached://localhost"}, "embedded"},
		"no host":        {lua.Options{URL: "redis:///1"}, "the host is missing"},
		"options in it":  {lua.Options{URL: "redis://h:1?max_retries=3"}, "settings of their own"},
		"database":       {lua.Options{URL: "redis://h:1/one"}, "database"},
		"negative db":    {lua.Options{URL: "redis://h:1/-1"}, "database"},
		"several hosts":  {lua.Options{URL: "redis://a,b"}, "redis+cluster://"},
		"no master":      {lua.Options{URL: "redis+sentinel://a,b"}, "the master's name is missing"},
		"cluster's db":   {lua.Options{URL: "redis+cluster://a,b/1"}, "one database only"},
		"relative path":  {lua.Options{URL: "unix://run/redis.sock"}, "not absolute"},
		"option of path": {lua.Options{URL: "unix:///run/redis.sock?x=1"}, "no option but db"},
		"port":           {lua.Options{URL: "rediss+cluster://a:0"}, "port"},
		"lone key":       {lua.Options{URL: "rediss://a", TLS: lua.TLSFiles{Key: "k"}}, "redis.tls.cert_file and redis.tls.key_file"},
		"files, no TLS":  {lua.Options{URL: "redis://a", TLS: lua.TLSFiles{CA: "c"}}, "rediss"},
		"pool":           {lua.Options{URL: lua.Embedded, MinIdle: 9, MaxConns: 3}, "min_idle 9 and max 3"},
		"no pool":        {lua.Options{URL: lua.Embedded, MaxConns: -1}, "max >= 1"},
		"timeouts":       {lua.Options{URL: lua.Embedded, DialTimeout: -time.Second}, "more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lua.Open(c.o)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAddressErrorsNeverShowAPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis://user:hun/ter2@host:1", "redis://user:hun#ter2@host:1", "redis://user:hun?ter2@host:1",
		"redis://user:hun ter2@host:1/x", "redis://user:hun%ter2@host:1", "hunter2@host:1", "redis://:hunter2@host:1/x",
		"hun://ter2@host", "redis+cluster://user:hun%ter2@a,b", "redis+sentinel://user:hun/ter2@a,b/m", "unix://user:hun?ter2@/x",
		"redis://user:hun[ter2@host:1",
	} {
		_, err := lua.Open(lua.Options{URL: url})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "hun", url)
		require.NotContains(t, err.Error(), "ter2", url)
	}
}

func TestEmbeddedStoreIsAnnouncedAndPrivate(t *testing.T) {
	t.Parallel()
	var log noise
	a := open(t, lua.Options{URL: lua.Embedded, Log: logTo(&log)})
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "embedded store")
	_, err := take(deadline(t), a, "k", 5)
	require.NoError(t, err)
	require.Zero(t, spent(t, open(t, lua.Options{URL: lua.Embedded}), "k", 5))
}
