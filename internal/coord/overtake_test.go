package coord_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// gate is a proxy between a sidecar and Redis. It holds back a write that has a certain text in it, and all that
// follows on that connection.
type gate struct {
	target string
	ln     net.Listener

	mu   sync.Mutex // guards what follows
	next *held
	open []net.Conn
	wg   sync.WaitGroup
}

// held is a script that the gate holds back.
type held struct {
	text []byte
	// came is closed when the script has reached the gate, passed when the gate lets it through, answered when Redis
	// has replied to it.
	came, passed, answered chan struct{}
}

func startGate(t *testing.T, url string) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{target: strings.TrimPrefix(url, "redis://"), ln: ln}
	g.wg.Go(g.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		g.mu.Lock()
		for _, c := range g.open {
			_ = c.Close()
		}
		g.mu.Unlock()
		g.wg.Wait()
	})
	return g
}

func (g *gate) url() string { return "redis://" + g.ln.Addr().String() }

// hold holds back the next write with this text.
func (g *gate) hold(text string) *held {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = &held{[]byte(text), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	return g.next
}

func (g *gate) accept() {
	for {
		client, err := g.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", g.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		g.mu.Lock()
		g.open = append(g.open, client, server)
		g.mu.Unlock()
		asked := make(chan *held, 64)
		g.wg.Go(func() { g.requests(client, server, asked) })
		g.wg.Go(func() { replies(client, server, asked) })
	}
}

func (g *gate) requests(client, server net.Conn, asked chan<- *held) {
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		g.mu.Lock()
		h := g.next
		if h != nil && bytes.Contains(buf[:n], h.text) {
			g.next = nil
		} else {
			h = nil
		}
		g.mu.Unlock()
		if h != nil {
			close(h.came)
			<-h.passed
			asked <- h
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func replies(client, server net.Conn, asked <-chan *held) {
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case h := <-asked:
			close(h.answered)
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A call that ends while its script is on its way leaves nothing behind, neither a ticket in a waiting line nor a
// lease: the give-back may use another connection, and must not overtake the script. Which connection a call uses
// depends on how many calls were alone since many were in flight together, so that each number of them is tried.
func TestAReleaseDoesNotOvertakeItsAcquire(t *testing.T) {
	t.Parallel()
	const most = 20 // more than make a difference
	prefix, way := redistest.Prefix(t), startGate(t, redistest.URL(t))
	s := coordtest.New(t, luatest.Open(t, lua.Options{URL: way.url()}), prefix)
	other := coordtest.New(t, luatest.Open(t, lua.Options{URL: redistest.URL(t)}), prefix)
	for _, s := range []*coordtest.Sidecar{s, other} {
		require.NoError(t, s.Rules.Set([]api.Rule{{
			Name: "r", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 10_000, PeriodMS: 3_600_000}}, MaxConcurrent: 1,
		}}, 1))
	}
	calls := func(n int) {
		for range n {
			_, err := s.Limiter.Peek(t.Context(), coord.Caller{}, &api.RatelimitParams{Rule: "r", Key: "k", Cost: 1})
			require.NoError(t, err)
		}
	}
	caller := func(s *coordtest.Sidecar, name string) coord.Caller {
		return coord.Caller{Session: s.Leases.Open(coord.Identity{Client: name}, func(coord.Loss) {})}
	}
	one, late, next := caller(s, "one of a crowd"), caller(s, "too late"), caller(other, "the next")

	type take func(ctx context.Context, s *coordtest.Sidecar, c coord.Caller, wait time.Duration) (give func(), served bool, err error)
	lock := func(ctx context.Context, s *coordtest.Sidecar, c coord.Caller, wait time.Duration) (func(), bool, error) {
		p := coordtest.Unbound("l", time.Hour)
		p.Token, p.WaitMS = "of "+c.Session.Identity().Client, wait.Milliseconds()
		g, err := s.Locks.Acquire(ctx, c, p)
		return func() {
			_, err := s.Locks.Release(t.Context(), c, &api.LockReleaseParams{Name: p.Name, Token: p.Token})
			require.NoError(t, err)
		}, g.Acquired, err
	}
	place := func(ctx context.Context, s *coordtest.Sidecar, c coord.Caller, wait time.Duration) (func(), bool, error) {
		d, err := s.Limiter.Acquire(ctx, c, &api.RatelimitParams{Rule: "r", Key: "k", Cost: 1, WaitMS: wait.Milliseconds()})
		return func() {
			_, err := s.Limiter.Done(t.Context(), c, &api.RatelimitGrantParams{Grant: d.Grant})
			require.NoError(t, err)
		}, d.Allowed, err
	}
	free := func(t *testing.T, take take) (give func()) {
		t.Helper()
		give, served, err := take(t.Context(), other, next, 0)
		require.NoError(t, err)
		require.True(t, served, "something was left behind")
		return give
	}
	for _, c := range []struct {
		name string
		take take
		wait time.Duration
	}{
		{"a place in the line for a lock", lock, time.Minute},
		{"a place under max_concurrent", place, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for alone := range most {
				give := free(t, c.take)
				if c.wait == 0 {
					give()
				}
				calls(most) // so that the first of many calls in flight has a connection of its own
				crowd, ended := way.hold("one of a crowd"), make(chan error, 1)
				go func() {
					_, err := s.Locks.Acquire(t.Context(), one, &api.LockAcquireParams{Name: "crowd", Token: "one", TTLMS: time.Hour.Milliseconds(), Bind: api.BindTTL})
					ended <- err
				}()
				<-crowd.came
				calls(1)
				close(crowd.passed)
				require.NoError(t, <-ended)
				calls(alone)

				script := way.hold("too late")
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					_, _, err := c.take(ctx, s, late, c.wait)
					ended <- err
				}()
				<-script.came
				cancel()
				select {
				case err := <-ended: // it was overtaken
					ended <- err
				case <-time.After(50 * time.Millisecond): // it waits for its script, or behind it
				}
				close(script.passed)
				<-script.answered
				require.Error(t, <-ended)
				if c.wait > 0 {
					give()
				}
				free(t, c.take)()
			}
		})
	}
}
