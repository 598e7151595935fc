package lua_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// silent is a server that accepts connections and never replies, as a stopped Redis does, or a server of another
// protocol.
type silent struct {
	addr     string
	accepted chan struct{} // gets an item for each connection
}

func startSilent(t *testing.T, network string) *silent {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "cox-") //nolint:usetesting // t.TempDir has the test's name in it
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		addr = filepath.Join(dir, "r")
	}
	ln, err := net.Listen(network, addr)
	require.NoError(t, err)
	s := &silent{addr: ln.Addr().String(), accepted: make(chan struct{}, 1024)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.accepted <- struct{}{}
			wg.Go(func() { // it reads, so that no write fails
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	return s
}

// silentURLs are the addresses of every topology; %s is the server's.
var silentURLs = map[string]string{
	"standalone": "redis://%s", "standalone, TLS": "rediss://%s", "path": "unix://%s",
	"sentinel": "redis+sentinel://%s/m", "sentinel, TLS": "rediss+sentinel://%s/m",
	"cluster": "redis+cluster://%s", "cluster, TLS": "rediss+cluster://%s",
}

// No step of connecting may delay the start or the end of a process. The timeouts here are longer than any test, so
// that the test would hang.
func TestARedisThatAcceptsAndNeverAnswersBlocksNoCall(t *testing.T) {
	t.Parallel()
	for name, url := range silentURLs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := "tcp"
			if strings.HasPrefix(url, "unix") {
				network = "unix"
			}
			s := startSilent(t, network)
			r, err := lua.Open(lua.Options{
				URL: strings.Replace(url, "%s", s.addr, 1), MinIdle: 2, MaxConns: 3,
				DialTimeout: time.Hour, CommandTimeout: time.Hour,
			})
			require.NoError(t, err)
			stop := r.Subscribe([]string{"c"}, redis.Subscriber{Message: func(string, string) {}, Subscribed: func() {}})
			second := r.Subscribe([]string{"d"}, redis.Subscriber{Message: func(string, string) {}, Subscribed: func() {}})
			<-s.accepted

			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan error, 2)
			go func() { asked <- r.Ping(t.Context()) }()
			go func() { _, err := take(ctx, r, "k", 5); asked <- err }()
			cancel()

			second()
			require.NoError(t, r.Close())
			stop()
			require.Error(t, <-asked)
			require.Error(t, <-asked)
		})
	}
}

// A server that stops in the middle of a call.
func TestCallsToAStoppedRedisEndWithClose(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := luatest.StartProxy(t, server.URL())
	r := luatest.Open(t, lua.Options{URL: p.URL, DialTimeout: time.Hour, CommandTimeout: time.Hour})
	stop := r.Subscribe([]string{"c"}, redis.Subscriber{Message: func(string, string) {}, Subscribed: func() {}})
	_, err := take(luatest.Deadline(t), r, "k", 5)
	require.NoError(t, err)
	server.Pause()
	defer server.Resume()
	p.Lose(luatest.Plan{Pass: 1 << 20})

	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { _, err := take(ctx, r, "k", 5); asked <- err }()
	<-p.Saw // the script was sent
	cancel()
	require.NoError(t, r.Close())
	stop()
	require.Error(t, <-asked)
}
