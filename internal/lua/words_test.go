package lua_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// denied is the error that a Redis in protected mode sends to a connection from another machine.
const denied = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user."

// hangUp accepts connections, writes words to each, and closes it without reading.
func hangUp(t *testing.T, l net.Listener, words string) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, words)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
}

func TestTheLastErrorBeforeAServerClosesTheConnectionIsReported(t *testing.T) {
	t.Parallel()
	plain := func(t *testing.T) (net.Listener, lua.Options) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return l, lua.Options{URL: "redis://" + l.Addr().String()}
	}
	for name, start := range map[string]func(t *testing.T) (net.Listener, lua.Options){
		"standalone": plain,
		"sentinel": func(t *testing.T) (net.Listener, lua.Options) {
			l, o := plain(t)
			o.URL = strings.Replace(o.URL, "redis", "redis+sentinel", 1) + "/mymaster"
			return l, o
		},
		"cluster": func(t *testing.T) (net.Listener, lua.Options) {
			l, o := plain(t)
			o.URL = strings.Replace(o.URL, "redis", "redis+cluster", 1)
			return l, o
		},
		"TLS": func(t *testing.T) (net.Listener, lua.Options) {
			l, o := plain(t)
			certs := redistest.NewCertificates(t)
			o.URL, o.TLS.CA = strings.Replace(o.URL, "redis", "rediss", 1), certs.CA
			return tls.NewListener(l, certs.Server(t)), o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, o := start(t)
			hangUp(t, l, "-"+denied+"\r\n")
			var log noise
			o.Log = logTo(&log)
			r := luatest.Open(t, o)
			for range 50 {
				_, err := take(luatest.Deadline(t), r, "k", 5)
				require.ErrorIs(t, err, redis.ErrUnavailable)
				require.ErrorContains(t, err, denied)
				require.ErrorContains(t, r.Status().Trouble, denied)
				err = r.Ping(context.Background())
				require.ErrorIs(t, err, redis.ErrUnavailable)
				require.ErrorContains(t, err, denied)
			}
			require.NotContains(t, log.String(), "broken pipe")
			require.NotContains(t, log.String(), "reset")
		})
	}
}
