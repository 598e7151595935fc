package lua_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/stretchr/testify/require"
)

// proxy stands between a runner and Redis and loses replies of scripts: what
// they answer has been executed.
type proxy struct {
	url    string
	target string
	ln     net.Listener
	// saw gets a value for every write of a script that passed while a plan was set.
	saw chan struct{}

	mu       sync.Mutex // guards the rest
	plan     *plan
	open     map[net.Conn]struct{}
	accepted int
	wg       sync.WaitGroup
}

// plan is what happens to the next connection on which a script is written.
type plan struct {
	// pass is how many bytes of its replies still get through.
	pass int
	// mute keeps the connection open instead of cutting it.
	mute bool
	// forever keeps the plan for all later ones.
	forever bool
}

func startProxy(t *testing.T, url string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{
		url: "redis://" + ln.Addr().String(), target: strings.TrimPrefix(url, "redis://"), ln: ln,
		saw: make(chan struct{}, 4096), open: map[net.Conn]struct{}{},
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		p.accepted++
		if err != nil {
			_ = client.Close()
			p.mu.Unlock()
			continue
		}
		p.open[client], p.open[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		fate := make(chan plan, 1)
		p.wg.Go(func() { p.requests(client, server, fate) })
		p.wg.Go(func() { p.replies(client, server, fate) })
	}
}

func (p *proxy) requests(client, server net.Conn, fate chan<- plan) {
	defer p.close(client, server)
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.plan != nil && bytes.Contains(buf[:n], []byte("evalsha")) && !bytes.Contains(buf[:n], []byte(probeSHA)) {
			select {
			case fate <- *p.plan:
			default:
			}
			if !p.plan.forever {
				p.plan = nil
			}
			p.saw <- struct{}{}
		}
		p.mu.Unlock()
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) replies(client, server net.Conn, fate <-chan plan) {
	defer p.close(client, server)
	buf := make([]byte, 64<<10)
	var doom *plan
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
			pass := min(n, doom.pass)
			doom.pass -= pass
			_, _ = client.Write(buf[:pass])
			if pass < n && !doom.mute {
				return
			}
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) close(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = client.Close(), server.Close()
	delete(p.open, client)
	delete(p.open, server)
}

// lose sets the plan for the next script.
func (p *proxy) lose(next plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = &next
}

// heal ends a plan that is forever.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = nil
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// probeSHA is the script of the transport's probe.
var probeSHA = func() string {
	text, err := os.ReadFile("../redis/probe.lua")
	if err != nil {
		panic(err)
	}
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}()

// behindProxy is a runner whose replies may be lost, and one beside it that looks.
func behindProxy(t *testing.T, o lua.Options) (p *proxy, r, witness *lua.Runner, key string) {
	t.Helper()
	p = startProxy(t, redistest.URL(t))
	o.URL = p.url
	r = open(t, o)
	require.NoError(t, untilUp(t, r))
	return p, r, open(t, lua.Options{URL: redistest.URL(t)}), redistest.Prefix(t)
}
