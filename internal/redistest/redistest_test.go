package redistest_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestSharedServerAnswersAndIsTheSameForAll(t *testing.T) {
	t.Parallel()
	url := redistest.URL(t)
	require.Equal(t, url, redistest.URL(t))
	require.NoError(t, redistest.Client(t).Ping(context.Background()).Err())
}

func TestPrefixesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		p := redistest.Prefix(t)
		require.Regexp(t, `^[a-z0-9]+$`, p)
		require.False(t, seen[p], p)
		seen[p] = true
	}
}

func TestProcessModeStartsAProcessOnLoopback(t *testing.T) {
	t.Parallel()
	url, what, stop, err := redistest.Open(env(redistest.EnvMode, "process"))
	require.NoError(t, err)
	require.Contains(t, what, "process")
	opt, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(opt)
	defer func() { require.NoError(t, c.Close()) }()
	bind, err := c.ConfigGet(context.Background(), "bind").Result()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", bind["bind"])
	require.NoError(t, stop())
	_, err = net.Dial("tcp", opt.Addr)
	require.ErrorContains(t, err, "refused")
}

func TestGivenServerIsUsedAndLeftRunning(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	url, what, stop, err := redistest.Open(env(redistest.EnvURL, "redis://user:secret@"+strings.TrimPrefix(s.URL(), "redis://"), redistest.EnvMode, "container"))
	require.NoError(t, err)
	require.Contains(t, url, "user:secret@")
	require.NotContains(t, what, "secret")
	require.NoError(t, stop())
	require.NoError(t, s.Client(t).Ping(context.Background()).Err())
}

func TestARedisThatCannotBeHadNamesTheReason(t *testing.T) {
	t.Parallel()
	_, _, _, err := redistest.Open(env(redistest.EnvMode, "vm"))
	require.ErrorContains(t, err, redistest.EnvMode)
	_, _, _, err = redistest.Open(env(redistest.EnvURL, "ftp://x"))
	require.ErrorContains(t, err, redistest.EnvURL)
	_, _, _, err = redistest.Open(env(redistest.EnvMode, "container", redistest.EnvImage, "no-such-image:anywhere"))
	require.ErrorContains(t, err, "container: ")
}

func TestPrivateServerRestartsEmptyOnTheSamePort(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t, "--maxmemory", "64mb")
	url, c := s.URL(), s.Client(t)
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	s.Stop()
	require.Error(t, c.Ping(ctx).Err())
	s.Stop()
	s.Restart()
	require.Equal(t, url, s.URL())
	n, err := c.DBSize(ctx).Result()
	require.NoError(t, err)
	require.Zero(t, n)
	limit, err := c.ConfigGet(ctx, "maxmemory").Result()
	require.NoError(t, err)
	require.Equal(t, "67108864", limit["maxmemory"])
}

// A stopped server is restarted on its port, also if many other tests look for one meanwhile.
func TestThePortOfAStoppedServerIsGivenToNoOther(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	port, err := strconv.Atoi(s.URL()[strings.LastIndex(s.URL(), ":")+1:])
	require.NoError(t, err)
	s.Stop()
	require.ErrorContains(t, redistest.Claim(port), "another test's")
	s.Restart()
}

func TestPausedServerAnswersOnlyAfterResume(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := s.Client(t)
	require.NoError(t, c.Ping(context.Background()).Err())
	s.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, c.WithTimeout(50*time.Millisecond).Ping(ctx).Err())
	s.Resume()
	require.NoError(t, c.Ping(context.Background()).Err())
	s.Pause()
	s.Stop() // a paused server can be ended
	require.Error(t, c.Ping(context.Background()).Err())
}

func TestStoresVisitsBothKinds(t *testing.T) {
	var seen []string
	redistest.Stores(t, func(_ *testing.T, url string) { seen = append(seen, url) })
	require.Len(t, seen, 2)
	require.Contains(t, seen[0], "redis://")
	require.Equal(t, "embedded", seen[1])
}

func TestStartReportsWhyRedisEnded(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		redistest.Start(rec, "--no-such-option", "1")
	}()
	require.Contains(t, rec.said, "no-such-option")
}

// recorder is a TB whose Fatalf records the message instead of failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			r.said += err.Error()
		}
	}
	panic(format)
}
