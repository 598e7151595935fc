package lua_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// witness is a client of a server, through which the test reads how many connections the server accepted.
type witness struct{ *goredis.Client }

// info returns a number of INFO. For a command's statistics, such as cmdstat_ping, it is the number of calls.
func (w witness) info(t *testing.T, section, name string) int {
	t.Helper()
	text, err := w.Info(luatest.Deadline(t), section).Result()
	require.NoError(t, err)
	_, after, found := strings.Cut(text, name+":")
	if !found {
		return 0
	}
	after = strings.TrimPrefix(after, "calls=")
	n, err := strconv.Atoi(after[:strings.IndexAny(after, ",\r\n")])
	require.NoError(t, err)
	return n
}

// accepted returns how many connections the server has accepted so far.
func (w witness) accepted(t *testing.T) int { return w.info(t, "stats", "total_connections_received") }

// secured runs a test on each topology whose name begins with names, plain and with TLS. masters are all servers that
// execute scripts.
func secured(t *testing.T, names string, test func(t *testing.T, o lua.Options, masters []witness)) {
	t.Helper()
	client := func(t *testing.T, certs *redistest.Certificates, addr string) witness {
		c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, PoolSize: 1, TLSConfig: certs.Config(t)})
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return witness{c}
	}
	options := func(url string, certs *redistest.Certificates) lua.Options {
		o := lua.Options{URL: url, CommandTimeout: 20 * time.Second}
		if certs != nil {
			o.TLS = redis.TLSFiles{CA: certs.CA, Cert: certs.Cert, Key: certs.Key}
		}
		return o
	}
	for name, start := range map[string]func(t *testing.T) (lua.Options, []witness){
		"standalone": func(t *testing.T) (lua.Options, []witness) {
			s := redistest.Start(t)
			return options(s.URL(), nil), []witness{client(t, nil, strings.TrimPrefix(s.URL(), "redis://"))}
		},
		"standalone TLS": func(t *testing.T) (lua.Options, []witness) {
			s := redistest.StartTLS(t)
			return options(s.URL(), s.Certificates), []witness{client(t, s.Certificates, strings.TrimPrefix(s.URL(), "rediss://"))}
		},
		"sentinel TLS": func(t *testing.T) (lua.Options, []witness) {
			s := redistest.StartSentinelTLS(t)
			return options(s.URL(), s.Certificates), []witness{client(t, s.Certificates, s.Client(t).Options().Addr)}
		},
		"cluster TLS": func(t *testing.T) (lua.Options, []witness) {
			c := redistest.StartClusterTLS(t)
			var masters []witness
			for _, key := range []string{"a", "b", "c"} { // one key of each master
				masters = append(masters, client(t, c.Certificates, c.Master(key)))
			}
			return options(c.URL(), c.Certificates), masters
		},
	} {
		if strings.HasPrefix(name, names) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o, masters := start(t)
				test(t, o, masters)
			})
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) { secured(t, "standalone", testReuse) }
func TestTopologyConnectionsAreUsedAgain(t *testing.T) {
	t.Run("sentinels", func(t *testing.T) { secured(t, "sentinel", testReuse) })
	t.Run("clusters", func(t *testing.T) { secured(t, "cluster", testReuse) })
}

func testReuse(t *testing.T, o lua.Options, masters []witness) {
	const most = 6   // connections of the pool
	const others = 5 // connections that replicas and sentinels may make when the machine is busy
	o.MinIdle, o.MaxConns = most, most
	r := luatest.Open(t, o)
	take1 := func(i int) error {
		_, err := take(luatest.Deadline(t), r, []string{"{a}", "{b}", "{c}"}[i%3], 1_000_000)
		return err
	}
	connections := func() (sum int) {
		for _, m := range masters {
			sum += m.accepted(t)
		}
		return sum
	}
	// The pools fill themselves in the background.
	filled := func() bool {
		st := r.Status()
		return st.Up && st.PoolTotal == most*len(masters)
	}
	ctx := luatest.Deadline(t)
	for i := 0; !filled(); i++ {
		require.NoError(t, ctx.Err(), "the pool never fills: %+v", r.Status())
		require.NoError(t, take1(i))
	}
	before := connections()
	for i := range 300 {
		require.NoError(t, take1(i))
	}
	require.LessOrEqual(t, connections(), before+others, "one caller after the other")

	var busy sync.WaitGroup
	failed := make(chan error, 16)
	for caller := range cap(failed) {
		busy.Go(func() {
			for i := range 100 {
				if err := take1(caller + i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	busy.Wait()
	close(failed)
	require.Empty(t, drain(failed))
	require.LessOrEqual(t, connections(), before+others, "many callers at once")

	// Now only the probe uses connections.
	for _, m := range masters {
		start := m.info(t, "commandstats", "cmdstat_ping")
		await(t, func() bool { return m.info(t, "commandstats", "cmdstat_ping") >= start+3 })
	}
	require.LessOrEqual(t, connections(), before+others, "nobody calls")
}

// await returns when done reports true.
func await(t *testing.T, done func() bool) {
	t.Helper()
	ctx, tick := luatest.Deadline(t), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain")
		}
	}
}
