package rpc_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// BenchmarkPing measures session.ping over the socket: with one caller, and with 64 on
// 4 connections. BenchmarkEcho is the lower bound: a goroutine that sends back the bytes
// that it reads.
func BenchmarkPing(b *testing.B) {
	frame := request(b, 1, "session.ping")
	b.Run("callers=1", func(b *testing.B) {
		roundTrips(b, serve(b, rpc.Options{}).path, frame, pingReply, 1, 1)
	})
	b.Run("callers=64", func(b *testing.B) {
		roundTrips(b, serve(b, rpc.Options{}).path, frame, pingReply, 4, 16)
	})
}

// pingReply is the size of a ping's reply in bytes.
const pingReply = 4 + 1 + 10 + 9

func BenchmarkEcho(b *testing.B) {
	path := filepath.Join(b.TempDir(), "echo.sock")
	l, err := net.Listen("unix", path)
	require.NoError(b, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil {
						_ = c.Close()
						return
					}
					_, _ = c.Write(buf[:n])
				}
			}()
		}
	}()
	frame := make([]byte, 64)
	b.Run("callers=1", func(b *testing.B) { roundTrips(b, path, frame, len(frame), 1, 1) })
	b.Run("callers=64", func(b *testing.B) { roundTrips(b, path, frame, len(frame), 4, 16) })
}

// BenchmarkAcquire measures ratelimit.acquire on a real Redis, over the socket and
// without it: the difference is the cost of this package.
func BenchmarkAcquire(b *testing.B) {
	srv := serveOn(b, rpc.Options{}, luatest.Open(b, lua.Options{URL: redistest.URL(b)}))
	limit := m{"key": "k", "algorithm": "token_bucket", "limits": []m{{"limit": 1_000_000, "period_ms": 1000}}}
	frame := request(b, 1, "ratelimit.acquire", limit)
	p := srv.dial(b)
	p.must("ratelimit.acquire", limit)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("socket/callers=%d", callers), func(b *testing.B) {
			callLoop(b, srv.path, frame, min(callers, 4), callers)
		})
		b.Run(fmt.Sprintf("direct/callers=%d", callers), func(b *testing.B) {
			p := &api.RatelimitParams{
				Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 1_000_000, PeriodMS: 1000}}, Key: "k", Cost: 1,
			}
			var done sync.WaitGroup
			b.ReportAllocs()
			for range callers {
				done.Go(func() {
					for range b.N / callers {
						if _, err := srv.limiter.Acquire(b.Context(), coord.Caller{}, p); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			done.Wait()
		})
	}
}

// callLoop runs callers on some connections. Each sends its next call when it has its
// reply, which it recognizes by the msgid, as a real client does.
func callLoop(b *testing.B, path string, frame []byte, conns, callers int) {
	b.Helper()
	var done sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range conns {
		c, err := net.Dial("unix", path)
		require.NoError(b, err)
		done.Go(func() {
			defer c.Close()
			replies(b, c, frame, callers/conns, b.N/conns)
		})
	}
	done.Wait()
}

// replies keeps under calls in flight until it has read the replies of calls of them.
func replies(b *testing.B, c net.Conn, frame []byte, under, calls int) {
	in := bufio.NewReaderSize(c, 64<<10)
	s := newSkimmer()
	var out []byte
	for id := range under {
		out = append(append(out, 0x94, 0, byte(id)), frame[3:]...)
	}
	for got := 0; got < calls; {
		if _, err := c.Write(out); err != nil {
			b.Error(err)
			return
		}
		out = out[:0]
		for len(out) == 0 || in.Buffered() > 0 && got < calls {
			id, err := oneReply(in, s)
			if err != nil {
				b.Error(err)
				return
			}
			got++
			out = append(append(out, 0x94, 0, id), frame[3:]...)
		}
	}
}

// oneReply reads one reply and returns its msgid, a fixint.
func oneReply(in *bufio.Reader, s *rpc.Skimmer) (byte, error) {
	s.Reset()
	for {
		b, err := in.Peek(max(1, in.Buffered()))
		if err != nil {
			return 0, err
		}
		size, whole, reason := s.Skim(b)
		if reason != "" {
			return 0, errors.New(reason)
		}
		if whole {
			id := b[2]
			_, err = in.Discard(size)
			return id, err
		}
		if _, err = in.Peek(len(b) + 1); err != nil {
			return 0, err
		}
	}
}

// roundTrips runs some callers on each connection, each with one frame in flight: a
// single caller waits for its reply, several share reads and writes.
func roundTrips(b *testing.B, path string, frame []byte, reply, conns, callers int) {
	b.Helper()
	var done sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range conns {
		c, err := net.Dial("unix", path)
		require.NoError(b, err)
		done.Go(func() {
			defer c.Close()
			buf := make([]byte, 64<<10)
			out := make([]byte, 0, callers*len(frame))
			left, under, part := b.N/conns, 0, 0
			for left > 0 || under > 0 {
				out = out[:0]
				for ; under < callers && left > 0; left, under = left-1, under+1 {
					out = append(out, frame...)
				}
				if _, err := c.Write(out); err != nil {
					b.Error(err)
					return
				}
				n, err := c.Read(buf)
				if err != nil {
					b.Error(err)
					return
				}
				part += n
				under -= part / reply
				part %= reply
			}
		})
	}
	done.Wait()
}
