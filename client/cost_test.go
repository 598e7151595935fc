package client_test

import (
	"bytes"
	"context"
	"net"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// canned is a sidecar that answers each method with the same bytes and allocates nothing,
// so that what is counted is the client's.
type canned map[string][]byte

func (s canned) set(t testing.TB, method string, result any) {
	var b []byte
	require.NoError(t, codec.NewEncoderBytes(&b, testHandle()).Encode(result))
	s[method] = b
}

func (s canned) serve(nc net.Conn) {
	in, have := make([]byte, 1<<16), 0
	var out []byte
	for {
		n, err := nc.Read(in[have:])
		if err != nil {
			return
		}
		have += n
		out = out[:0]
		rest := in[:have]
		for len(rest) > 0 {
			length, err := client.Skim(rest, len(rest))
			if err != nil || length == 0 {
				break
			}
			out = s.answer(out, rest[:length])
			rest = rest[length:]
		}
		have = copy(in, rest)
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// answer answers [0, msgid, method, params]. A token in the params is in the result too, as
// the sidecar has it.
func (s canned) answer(out, frame []byte) []byte {
	width := 1
	if c := frame[2]; c >= 0xcc {
		width += 1 << (c - 0xcc)
	}
	method := frame[2+width:]
	method = method[1 : 1+method[0]&0x1f]
	out = append(out, 0x94, 1)
	out = append(out, frame[2:2+width]...)
	out = append(out, 0xc0)
	result := s[string(method)]
	at := bytes.Index(frame, []byte("\xa5token"))
	if at < 0 {
		return append(out, result...)
	}
	token := frame[at:]
	token = token[:7+token[6]&0x1f]
	out = append(out, result[0]+1)
	out = append(out, token...)
	return append(out, result[1:]...)
}

func costClient(t *testing.T) *client.Client {
	ours, theirs := socketPair(t)
	s := canned{}
	s.set(t, "session.hello", newFake(t).hello)
	s.set(t, "session.ping", map[string]any{"now_at_ms": 1767225600000})
	s.set(t, "ratelimit.acquire", map[string]any{
		"allowed": true, "rule": "crawl", "algorithm": "token_bucket", "band": "1000/1s", "limit": 1000, "remaining": 999, "current": 1,
		"reset_after_ms": 1, "reset_at_ms": 1767225600000, "retry_after_ms": 0, "waited_ms": 0, "degraded": false, "source": "redis",
		"grant": "1.4KQ7ZW3XPLA5TN1.token_bucket.1.f0gqz8a7.crawl:example.com",
	})
	s.set(t, "lock.acquire", map[string]any{"acquired": true, "fence": "18446744073709551615", "ttl_ms": 30000, "retry_after_ms": 0})
	s.set(t, "lock.release", map[string]any{"released": true, "reason": "released"})
	go s.serve(theirs)
	c, err := client.DialBy(t.Context(), client.Options{}, once(ours))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestCallsAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	c := costClient(t)
	ending, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, ctx := range map[string]context.Context{"without an end": context.Background(), "with an end": ending} {
		for _, cost := range []struct {
			what string
			most float64
			call func() error
		}{
			{"a ping: its result", 1, func() error {
				_, err := c.Ping(ctx)
				return err
			}},
			{"ratelimit.acquire with a request id: params and result, and the grant", 2, func() error {
				r, err := c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "crawl", Key: "example.com"})
				if err == nil && !r.Allowed {
					t.Error("refused")
				}
				return err
			}},
			{"lock.acquire and lock.release: params and result, the lease, its token, its fence and the second result, less one that is kept", 4, func() error {
				lk, err := c.LockAcquire(ctx, "orders", client.LockOptions{})
				if err != nil {
					return err
				}
				return lk.Release(ctx)
			}},
		} {
			n := testing.AllocsPerRun(1000, func() {
				if err := cost.call(); err != nil {
					t.Error(err)
				}
			})
			require.LessOrEqual(t, n, cost.most, "%s, on a context %s", cost.what, name)
		}
	}
}
