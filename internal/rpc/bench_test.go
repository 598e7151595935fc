package rpc_test

import (
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// BenchmarkPing is session.ping over the socket: with one caller, and with 64 on
// 4 connections. BenchmarkEcho beside it is the floor: a goroutine that sends
// back what it reads.
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

// roundTrips has on each connection some callers of which each has one frame
// under way: a lone caller waits for its reply, several share reads and writes.
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
