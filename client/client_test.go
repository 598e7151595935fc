package client_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// bubble dials the fake in memory, for tests in a synctest bubble.
func bubble(t *testing.T, f *fake, o client.Options) *client.Client {
	t.Helper()
	c, err := client.DialBy(t.Context(), o, f.pipe)
	require.NoError(t, err)
	return c
}

func TestDialSaysWhyTheSidecarCannotBeReached(t *testing.T) {
	t.Parallel()
	dead := filepath.Join(t.TempDir(), "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	missing := filepath.Join(t.TempDir(), "missing.sock")
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))

	for name, c := range map[string]struct {
		socket string
		cause  error
		words  string
	}{
		"missing":   {missing, fs.ErrNotExist, "is it running? start it with sidecar serve, or name its socket in COXSWAIN_SOCKET"},
		"left over": {dead, syscall.ECONNREFUSED, "no process listens on it"},
		"over-long": {long, syscall.EINVAL, fmt.Sprintf("the path has %d bytes", len(long))},
	} {
		_, err := client.Dial(t.Context(), client.Options{Socket: c.socket, FailFast: true})
		require.ErrorIs(t, err, c.cause, name)
		require.ErrorContains(t, err, "cannot reach the sidecar at "+c.socket, name)
		require.ErrorContains(t, err, c.words, name)
		var ce *client.ConnectError
		require.ErrorAs(t, err, &ce, name)
	}
}

func TestDialDoesNotWaitForAPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
		}
		began := time.Now()
		_, err := client.DialBy(t.Context(), client.Options{Socket: "/s"}, refuse)
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, "join its group, or set socket.gid and socket.mode")
		require.Zero(t, time.Since(began), "by the bubble's clock")
	})
}

func TestDialWaitsForASidecarThatStartsLater(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	dialled := make(chan error, 1)
	tries := make(chan struct{}, 100)
	d := net.Dialer{}
	go func() {
		c, err := client.DialBy(t.Context(), client.Options{Socket: path, Timeout: patience}, func(ctx context.Context) (net.Conn, error) {
			tries <- struct{}{}
			return d.DialContext(ctx, "unix", path)
		})
		if err == nil {
			err = c.Close()
		}
		dialled <- err
	}()
	<-tries
	<-tries // the first has failed
	f.listenAt(path)
	require.NoError(t, <-dialled)
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := func(context.Context) (net.Conn, error) { return nil, fs.ErrNotExist }
		began := time.Now()
		_, err := client.DialBy(context.Background(), client.Options{Socket: "/s"}, gone)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Equal(t, 5*time.Second, time.Since(began)) // the bubble's clock

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = client.DialBy(ctx, client.Options{Socket: "/s"}, gone)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestDialRefusesAnotherProtocol(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.hello["protocol"] = 2
	_, err := client.Dial(t.Context(), client.Options{Socket: f.listen()})
	require.ErrorContains(t, err, `server "fake" 0 has protocol 2: it does not speak protocol version 1`)
}

func TestDialFindsTheSocketInTheEnvironment(t *testing.T) {
	t.Setenv(client.SocketEnv, newFake(t).listen()+"\n")
	dial(t, "", client.Options{})
}

func TestHelloIntroducesTheClient(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	hello := make(chan map[string]any, 2)
	f.greeted = func(p map[string]any) { hello <- p }
	path := f.listen()
	dial(t, path, client.Options{Client: "billing", Version: "1.2", Instance: "pod-7"})
	h := <-hello
	require.Equal(t, "billing", h["client"])
	require.Equal(t, "1.2", h["version"])
	require.Equal(t, "pod-7", h["instance"])
	require.Equal(t, "map", h["errors"])

	dial(t, path, client.Options{})
	h = <-hello
	require.Equal(t, filepath.Base(os.Args[0]), h["client"])
	require.Contains(t, h["instance"], fmt.Sprintf("/%d", os.Getpid()))
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on("session.ping", nil)
	c, err := client.Dial(t.Context(), client.Options{Socket: f.listen(), Timeout: patience})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Ping(context.Background())
		ended <- err
	}()
	f.next("session.ping")
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, client.ErrClosed)
	_, err = c.Ping(t.Context())
	require.ErrorIs(t, err, client.ErrClosed)
	require.NoError(t, c.Close(), "again")
}

func TestConnectionsTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := dial(t, f.listen(), client.Options{Connections: 3})
	seen := map[*peer]bool{}
	for len(seen) < 3 {
		_, err := c.Ping(t.Context())
		require.NoError(t, err)
		seen[f.next("session.ping").peer] = true
	}
}

func TestEventsComeInOrderAndMayCall(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := make(chan string, 2)
	var c *client.Client
	ready := make(chan struct{})
	c = dial(t, f.listen(), client.Options{OnEvent: func(e client.Event) {
		<-ready
		if _, err := c.Ping(context.Background()); err != nil {
			got <- err.Error()
		}
		got <- e.Method + fmt.Sprint(e.Params["n"])
	}})
	close(ready)
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	p := f.next("session.ping").peer
	p.notify("a.b", map[string]any{"n": 1})
	p.notify("c.d", map[string]any{"n": 2})
	require.Equal(t, "a.b1", <-got)
	require.Equal(t, "c.d2", <-got)
}

// Whatever is wrong with what the sidecar sends, the connection is given up and
// the next one serves.
func TestMalformedFramesEndTheConnection(t *testing.T) {
	t.Parallel()
	for _, v := range []string{
		"c1", "05", "a26869", "90", "9401", "940001c0c0", "9401a131c0c0", "93020590", "9301c0c0",
		"9302a9" + "6c6f636b2e6c6f7374" + "9105", // lock.lost with a number for params
		"c6ffffffff", "ddffffffff",
	} {
		f := newFake(t)
		c := dial(t, f.listen(), client.Options{})
		_, err := c.Ping(t.Context())
		require.NoError(t, err)
		broken := f.next("session.ping").peer
		broken.write(vector{Hex: v}.bytes(t))
		if v == "9401" {
			_ = broken.nc.Close() // cut off, not malformed
		}
		<-broken.ended
		_, err = c.Ping(t.Context())
		require.NoError(t, err, v)
		require.NotSame(t, broken, f.next("session.ping").peer, v)
	}
}

func TestBusyErrorNamesTheHolder(t *testing.T) {
	t.Parallel()
	err := error(&client.BusyError{Noun: "lock", Name: "l", HeldBy: &api.Holder{Client: "billing", Instance: "pod-7/1"}, RetryAfter: time.Second})
	require.EqualError(t, err, "lock l: busy: held by billing pod-7/1 for up to 1s")
	require.ErrorIs(t, err, client.ErrBusy)
	require.NotErrorIs(t, err, client.ErrLost)
	require.EqualError(t, &client.BusyError{Noun: "lock", Name: "l"}, "lock l: busy for up to 0s")
	require.False(t, errors.Is(err, api.Unavailable))
}
