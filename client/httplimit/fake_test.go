package httplimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// patience bounds waits for events that always happen, on a busy machine too.
const patience = 30 * time.Second

// m is a map on the wire.
type m = map[string]any

// fake is a sidecar whose answers a test sets as maps, so that a test names only the keys that
// matter to it.
type fake struct {
	*clienttest.Sidecar
	ended chan struct{} // closed when calls without an answer may end
}

func newFake(t testing.TB) *fake {
	f := &fake{clienttest.NewSidecar(), make(chan struct{})}
	t.Cleanup(f.Close)
	t.Cleanup(func() { close(f.ended) })
	f.on(api.RatelimitAcquire.Name, allow(m{"grant": "g1", "held": true}))
	f.on(api.RatelimitReport.Name, answer(m{"wait_ms": 0}))
	f.on(api.RatelimitDone.Name, answer(m{"done": true}))
	f.on(api.RatelimitRefund.Name, answer(m{"refunded": true, "reason": "refunded"}))
	return f
}

// on sets a function that answers the calls of a method; if it returns two nils, the call gets no answer.
func (f *fake) on(method string, fn func(m) (result any, err error)) {
	switch method {
	case api.RatelimitAcquire.Name:
		on(f, api.RatelimitAcquire, fn)
	case api.RatelimitReport.Name:
		on(f, api.RatelimitReport, fn)
	case api.RatelimitDone.Name:
		on(f, api.RatelimitDone, fn)
	case api.RatelimitRefund.Name:
		on(f, api.RatelimitRefund, fn)
	default:
		panic(method)
	}
}

func on[P, R any](f *fake, method api.Method[P, R], fn func(m) (result any, err error)) {
	clienttest.On(f.Sidecar, method, func(p P) (r R, err error) {
		var params m
		convert(p, &params)
		result, err := fn(params)
		if result == nil && err == nil {
			<-f.ended
		}
		convert(result, &r)
		return r, err
	})
}

// convert converts a struct of the contract to a map, or a map to a struct.
func convert(from, to any) {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.RawToString, h.SignedInteger = true, true
	var b []byte
	if err := codec.NewEncoderBytes(&b, h).Encode(from); err != nil {
		panic(err)
	}
	if err := codec.NewDecoderBytes(b, h).Decode(to); err != nil {
		panic(err)
	}
}

// methods returns the methods of the calls so far, in their order.
func (f *fake) methods() []string {
	var names []string
	for _, c := range f.Calls() {
		names = append(names, c.Method)
	}
	return names
}

// only returns the params of the only call of that method.
func (f *fake) only(t testing.TB, method string) m {
	t.Helper()
	var found []m
	for _, c := range f.Calls() {
		if c.Method == method {
			found = append(found, c.Params)
		}
	}
	require.Len(t, found, 1, method)
	return found[0]
}

func answer(v any) func(m) (any, error) { return func(m) (any, error) { return v, nil } }

// fault answers with an error, given as CODE: text.
func fault(text string) func(m) (any, error) {
	code, message, _ := strings.Cut(text, ": ")
	return func(m) (any, error) { return nil, &api.Error{Code: api.Code(code), Message: message} }
}

// decision returns the result of an allowed call under a limit of 80 per 10 minutes, with changes.
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

func allow(changes m) func(m) (any, error) { return answer(decision(changes)) }

func deny(changes m) func(m) (any, error) {
	d := decision(m{"allowed": false, "remaining": 0, "denied_by": "limit", "retry_after_ms": 1500})
	for k, v := range changes {
		d[k] = v
	}
	return answer(d)
}

// dial connects a client to the fake until the test ends.
func (f *fake) dial(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{Socket: f.Socket()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
