package lua_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// sentinelsOf are clients of the sentinels that a URL names.
func sentinelsOf(t *testing.T, url string) []*goredis.Client {
	t.Helper()
	_, rest, _ := strings.Cut(url, "://")
	list, _, _ := strings.Cut(rest, "/")
	var all []*goredis.Client
	for addr := range strings.SplitSeq(list, ",") {
		c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1})
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		all = append(all, c)
	}
	return all
}

func TestTopologySentinelsHaveALoginOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	require.NoError(t, s.Client(t).Do(luatest.Deadline(t), "acl", "setuser", "app", "on", ">of-servers", "~*", "&*", "+@all").Err())
	for _, c := range sentinelsOf(t, s.URL()) {
		require.NoError(t, c.Do(luatest.Deadline(t), "acl", "setuser", "watcher", "on", ">of-sentinels",
			"+auth", "+sentinel|get-master-addr-by-name").Err())
		require.NoError(t, c.Do(luatest.Deadline(t), "acl", "setuser", "default", "resetpass", ">nobody-knows").Err())
	}
	url := strings.Replace(s.URL(), "://", "://app:of-servers@", 1)
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("of-sentinels\n"), 0o600))

	for name, login := range map[string]redis.Login{
		"password": {Username: "watcher", Password: "of-sentinels"},
		"file":     {Username: "watcher", PasswordFile: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := luatest.Open(t, lua.Options{URL: url, Sentinel: login})
			_, err := take(luatest.Deadline(t), r, redistest.Prefix(t), 5)
			require.NoError(t, err)
			require.NoError(t, r.Ping(luatest.Deadline(t)))
		})
	}
	for name, c := range map[string]struct {
		url   string
		login redis.Login
		want  string
	}{
		"none":               {s.URL(), redis.Login{}, "NOAUTH"},
		"that of the others": {url, redis.Login{}, "WRONGPASS"},
		"a wrong one":        {url, redis.Login{Username: "watcher", Password: "hunter2"}, "WRONGPASS"},
		"no file":            {url, redis.Login{Username: "watcher", PasswordFile: file + ".gone"}, "redis.sentinel.password_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log noise
			r := luatest.Open(t, lua.Options{URL: c.url, Sentinel: c.login, Log: logTo(&log)})
			_, err := take(luatest.Deadline(t), r, "k", 5)
			require.ErrorIs(t, err, redis.ErrUnavailable)
			ping := r.Ping(luatest.Deadline(t))
			require.ErrorIs(t, ping, redis.ErrUnavailable)
			await(t, func() bool { return strings.Contains(log.String(), "redis is down") })
			for _, told := range []string{err.Error(), ping.Error(), r.Status().Trouble.Error(), log.String()} {
				require.Contains(t, told, "no sentinel names a master that replies")
				require.Contains(t, told, c.want)
				require.Contains(t, told, "redis.sentinel")
				require.NotContains(t, told, "missing address")
				require.NotContains(t, told, "hunter2")
				require.NotContains(t, told, "of-servers")
			}
			require.Contains(t, r.Status().Trouble.Words, "sentinel")
			require.Contains(t, r.Status().Trouble.Remedy, "redis.sentinel.")
		})
	}
}

func TestTopologySentinelsAreAskedOverOneConnection(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	r := luatest.Open(t, lua.Options{URL: s.URL()})
	require.NoError(t, luatest.UntilUp(t, r))
	master := witness{s.Client(t)}
	// asking returns the connections whose last command asked for the master.
	asking := func() (ids []string) {
		for _, c := range sentinelsOf(t, s.URL()) {
			list, err := c.ClientList(luatest.Deadline(t)).Result()
			require.NoError(t, err)
			for line := range strings.Lines(list) {
				if strings.Contains(line, "cmd=sentinel|get-master-addr-by-name") {
					id, _, _ := strings.Cut(line, " ")
					ids = append(ids, c.Options().Addr+" "+id)
				}
			}
		}
		return ids
	}
	before := asking()
	require.Len(t, before, 1)
	start := master.info(t, "commandstats", "cmdstat_role")
	await(t, func() bool { return master.info(t, "commandstats", "cmdstat_role") >= start+3 })
	require.Equal(t, before, asking())
}

func TestASentinelsLoginWithoutSentinelsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := lua.Open(lua.Options{URL: "redis://a", Sentinel: redis.Login{Username: "u"}})
	require.ErrorContains(t, err, "redis+sentinel")
}
