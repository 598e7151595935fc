package httplimit_test

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// patience is for what always comes, however busy the machine is.
const patience = 30 * time.Second

// m is a map on the wire.
type m = map[string]any

// fake is a sidecar that answers what a test says and keeps what it was asked.
// It speaks the protocol by a plain MessagePack library, as a foreign program would.
type fake struct {
	socket string

	mu      sync.Mutex // guards what follows
	answers map[string]func(m) (result, err any)
	asked   []call
	conns   []net.Conn
	wg      sync.WaitGroup
	l       net.Listener
}

// call is what one request said, without its metadata.
type call struct {
	method string
	params m
}

func newFake(t testing.TB) *fake {
	f := &fake{socket: filepath.Join(t.TempDir(), "s"), answers: map[string]func(m) (any, any){}}
	f.on(api.RatelimitAcquire.Name, allow(m{"grant": "g1"}))
	f.on(api.RatelimitReport.Name, answer(m{"wait_ms": 0}))
	f.on(api.RatelimitDone.Name, answer(m{"done": true}))
	f.on(api.RatelimitRefund.Name, answer(m{"refunded": true, "reason": "refunded"}))
	var err error
	f.l, err = net.Listen("unix", f.socket)
	require.NoError(t, err)
	f.wg.Go(func() {
		for {
			nc, err := f.l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, nc)
			f.mu.Unlock()
			f.wg.Go(func() { f.serve(nc) })
		}
	})
	t.Cleanup(f.stop)
	return f
}

// stop ends the fake as a process would.
func (f *fake) stop() {
	_ = f.l.Close()
	f.mu.Lock()
	for _, nc := range f.conns {
		_ = nc.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *fake) serve(nc net.Conn) {
	defer nc.Close()
	h := &codec.MsgpackHandle{WriteExt: true}
	h.RawToString, h.SignedInteger = true, true
	d := codec.NewDecoder(bufio.NewReader(nc), h)
	for {
		var v []any
		if d.Decode(&v) != nil {
			return
		}
		if v[0] == int64(2) {
			continue // a notification, such as rpc.cancel
		}
		method, params := fmt.Sprint(v[2]), m{}
		for k, x := range v[3].([]any)[0].(map[any]any) {
			if k := fmt.Sprint(k); k[0] != '_' {
				params[k] = x
			}
		}
		result, fault := f.answer(method, params)
		if result == nil && fault == nil {
			continue
		}
		var b []byte
		if codec.NewEncoderBytes(&b, h).Encode([]any{1, v[1], fault, result}) != nil {
			return
		}
		if _, err := nc.Write(b); err != nil {
			return
		}
	}
}

func (f *fake) answer(method string, params m) (result, err any) {
	if method == api.SessionHello.Name {
		return m{"server": "fake", "version": "0", "protocol": 1, "session": "s", "limits": m{"max_frame_bytes": 1 << 20, "max_inflight": 1024}}, nil
	}
	f.mu.Lock()
	f.asked = append(f.asked, call{method, params})
	fn := f.answers[method]
	f.mu.Unlock()
	if fn == nil {
		return nil, []any{1, "METHOD_NOT_FOUND: no such method"}
	}
	return fn(params)
}

// on sets the answer to a method; two nils = none.
func (f *fake) on(method string, fn func(m) (result, err any)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[method] = fn
}

// calls are the calls so far, in their order.
func (f *fake) calls() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// methods are their names alone.
func (f *fake) methods() []string {
	var names []string
	for _, c := range f.calls() {
		names = append(names, c.method)
	}
	return names
}

// only is the params of the only call of that method.
func (f *fake) only(t testing.TB, method string) m {
	t.Helper()
	var found []m
	for _, c := range f.calls() {
		if c.method == method {
			found = append(found, c.params)
		}
	}
	require.Len(t, found, 1, method)
	return found[0]
}

func answer(v any) func(m) (any, any) { return func(m) (any, any) { return v, nil } }

func fault(text string) func(m) (any, any) { return func(m) (any, any) { return nil, []any{1, text} } }

// decision is an answer about a limit of 80 per 10 minutes, with changes.
func decision(changes m) m {
	d := m{
		"allowed": true, "rule": "crawl", "algorithm": "token_bucket", "band": "80/10m", "limit": 80, "remaining": 79, "current": 1,
		"reset_after_ms": 7500, "reset_at_ms": 1767225600000, "retry_after_ms": 0, "waited_ms": 0, "degraded": false, "source": "redis",
	}
	for k, v := range changes {
		d[k] = v
	}
	return d
}

func allow(changes m) func(m) (any, any) { return answer(decision(changes)) }

func deny(changes m) func(m) (any, any) {
	d := decision(m{"allowed": false, "remaining": 0, "denied_by": "limit", "retry_after_ms": 1500})
	for k, v := range changes {
		d[k] = v
	}
	return answer(d)
}

// dial connects a client to the fake for the test's time.
func (f *fake) dial(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Socket: f.socket})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
