package luatest

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// Proxy is between a runner and Redis and loses replies of scripts, which Redis has
// executed.
type Proxy struct {
	// URL is where runners reach it, Target the address of the Redis behind it.
	URL, Target string
	// Saw gets a value for every write of a script that passed while a plan was set.
	Saw chan struct{}

	ln net.Listener

	mu       sync.Mutex // guards the rest
	plan     *Plan
	open     map[net.Conn]struct{}
	muted    []net.Conn // whose replies were lost by a plan that keeps them open
	accepted int
	wg       sync.WaitGroup
}

// Plan is what the proxy does with the next connection on which a script is written.
type Plan struct {
	// Pass is how many bytes of its replies still get through.
	Pass int
	// Mute keeps the connection open instead of cutting it.
	Mute bool
	// Forever keeps the plan for all later ones.
	Forever bool
}

// StartProxy starts a proxy in front of the Redis at url, until the test ends.
func StartProxy(t *testing.T, url string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{
		URL: "redis://" + ln.Addr().String(), Target: strings.TrimPrefix(url, "redis://"), ln: ln,
		Saw: make(chan struct{}, 4096), open: map[net.Conn]struct{}{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.Target)
		p.mu.Lock()
		p.accepted++
		if err != nil {
			_ = client.Close()
			p.mu.Unlock()
			continue
		}
		p.open[client], p.open[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		fate := make(chan Plan, 1)
		p.wg.Go(func() { p.requests(client, server, fate) })
		p.wg.Go(func() { p.replies(client, server, fate) })
	}
}

func (p *Proxy) requests(client, server net.Conn, fate chan<- Plan) {
	defer p.close(client, server)
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.plan != nil && bytes.Contains(buf[:n], []byte("evalsha")) && !bytes.Contains(buf[:n], []byte(ProbeSHA())) {
			select {
			case fate <- *p.plan:
			default:
			}
			if !p.plan.Forever {
				p.plan = nil
			}
			p.Saw <- struct{}{}
		}
		p.mu.Unlock()
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) replies(client, server net.Conn, fate <-chan Plan) {
	defer p.close(client, server)
	buf := make([]byte, 64<<10)
	var doom *Plan
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case f := <-fate:
			doom = &f
		default:
		}
		if doom != nil {
			pass := min(n, doom.Pass)
			doom.Pass -= pass
			_, _ = client.Write(buf[:pass])
			if pass < n && !doom.Mute {
				return
			}
			if pass < n {
				p.mu.Lock()
				p.muted = append(p.muted, client)
				p.mu.Unlock()
			}
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) close(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = client.Close(), server.Close()
	delete(p.open, client)
	delete(p.open, server)
}

// Lose sets the plan for the next script.
func (p *Proxy) Lose(next Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = &next
}

// Heal ends a plan that is forever.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = nil
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// CutMuted ends the connections whose replies a plan with Mute has lost, once there is one: Redis has executed its script.
func (p *Proxy) CutMuted(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.muted {
			_ = c.Close()
		}
		return len(p.muted) > 0
	}, time.Minute, time.Millisecond)
}

// Kill ends all connections and accepts no new ones, as if the runner's process had ended.
func (p *Proxy) Kill() {
	_ = p.ln.Close()
	p.Cut()
}

// Connections returns how many connections it has accepted so far.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// ProbeSHA is the name of the script that the transport's probe runs.
var ProbeSHA = sync.OnceValue(func() string {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		text, err := os.ReadFile(filepath.Join(dir, "internal", "redis", "probe.lua"))
		switch {
		case err == nil:
			sum := sha1.Sum(text)
			return hex.EncodeToString(sum[:])
		case len(dir) > 30:
			panic(err)
		}
	}
})

// BehindProxy returns a runner whose replies may be lost, and one that reaches the same Redis directly.
func BehindProxy(t *testing.T, o lua.Options) (p *Proxy, r, witness *lua.Runner, key string) {
	t.Helper()
	p = StartProxy(t, redistest.URL(t))
	o.URL = p.URL
	r = Open(t, o)
	require.NoError(t, UntilUp(t, r))
	return p, r, Open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t)
}
