package coordtest

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// OnRedis starts a sidecar on the shared server, with the clock of Redis. It also returns a function that finds the
// stored state of a lock.
func OnRedis(t *testing.T) (*Sidecar, func(lock string) redistest.Stored) {
	t.Helper()
	s := New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t))
	store := redistest.Client(t)
	return s, func(lock string) redistest.Stored { return redistest.Stored{Store: store, Key: LockKey(s.Keys, lock)} }
}

// Hooked starts a sidecar, and returns a function that registers a hook, which is called once, before the nth script
// from then on.
func Hooked(t *testing.T, url string) (*Sidecar, func(n int64, hook func())) {
	t.Helper()
	var countdown atomic.Int64
	var hook func()
	s := New(t, luatest.Open(t, lua.Options{URL: url, Clock: func() int64 {
		if countdown.Add(-1) == 0 {
			hook()
		}
		return 1_700_000_000_000_000
	}}), redistest.Prefix(t))
	return s, func(n int64, f func()) { hook = f; countdown.Store(n) }
}

// Proxy is a proxy in front of the shared server that can lose replies.
type Proxy struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// ThroughProxy opens a proxy until the test ends. The package's TestMain has to ignore ProxyLeak.
func ThroughProxy(t *testing.T) Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", strings.TrimPrefix(redistest.URL(t), "redis://"))
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return Proxy{t, p}
}

// ProxyLeak ignores a goroutine that a Proxy may leave behind: removing a timeout toxic closes the link at once, so
// that the pipe before it, if it is just passing on a chunk, waits forever.
func ProxyLeak() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe")
}

// URL returns the address at which the proxy listens, as one of Redis.
func (p Proxy) URL() string { return "redis://" + p.proxy.Listen }

// Add adds a toxic of this kind to the replies.
func (p Proxy) Add(kind, attributes string) {
	p.t.Helper()
	_, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"type":%q,"name":%q,"stream":"downstream","attributes":{%s}}`, kind, kind, attributes)))
	require.NoError(p.t, err)
}

// Mute loses every reply until Heal, which cuts the connections.
func (p Proxy) Mute() { p.Add("timeout", `"timeout":0`) }

// Heal ends Mute.
func (p Proxy) Heal() { require.NoError(p.t, p.proxy.Toxics.RemoveToxic(p.t.Context(), "timeout")) }

// Refusing is an address at which connections are counted and closed.
type Refusing struct {
	// Dials counts the connections.
	Dials atomic.Int64
	ln    net.Listener
}

// NewRefusing listens until the test ends.
func NewRefusing(t *testing.T) *Refusing {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &Refusing{ln: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.Dials.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return r
}

// URL returns the address as one of Redis.
func (r *Refusing) URL() string { return "redis://" + r.ln.Addr().String() }
