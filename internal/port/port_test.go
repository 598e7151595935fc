package port_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var setting = port.Setting{Path: "http.addr", Flag: "--http", Variable: "COXSWAIN_HTTP_ADDR", Example: ":8086"}

var scrape = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "scraped\n") })

func listen(t *testing.T, h http.Handler) *port.Server {
	t.Helper()
	l, err := setting.Listen("127.0.0.1:0")
	require.NoError(t, err)
	s := port.Serve("health", l, h, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestThePortAnswersUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := listen(t, scrape)
	require.NotContains(t, s.Addr(), ":0")
	for method, want := range map[string]string{"GET": "scraped\n", "HEAD": ""} {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+"/metrics", nil)
		require.NoError(t, err)
		r.Close = true // its connection must not outlive the test
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, want, string(body))
	}
	require.NoError(t, s.Stop(t.Context()))
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err)
	require.NoError(t, s.Stop(t.Context()), "twice is once")
}

func TestConnectionsThatAskNothingMakeRoomForOthers(t *testing.T) {
	t.Parallel()
	s := listen(t, scrape)
	open := make([]net.Conn, 3*port.MaxConns)
	for i := range open {
		c, err := net.Dial("tcp", s.Addr())
		require.NoError(t, err)
		defer c.Close()
		open[i] = c
		if i%2 == 0 {
			require.Equal(t, "200 OK", kept(t, c), "a new one is always served")
		}
	}
	require.Equal(t, "200 OK", kept(t, open[len(open)-1]))
	closed := make(map[int]bool)
	require.Eventually(t, func() bool {
		for i, c := range open {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err := c.Read(make([]byte, 1))
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				closed[i] = true
			}
		}
		return len(closed) >= 2*port.MaxConns
	}, time.Minute, time.Millisecond, "more stay open than the port allows")
	require.NotContains(t, closed, len(open)-1, "the last to ask goes last")
	require.NoError(t, s.Stop(t.Context()))
}

// kept sends a request on a connection that stays open, and returns the status.
func kept(t *testing.T, c net.Conn) string {
	t.Helper()
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r.Status
}

func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	answered := make(chan error)
	go func() {
		res, err := http.Get("http://" + s.Addr() + "/metrics")
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	<-entered
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Stop(ended), context.Canceled)
	require.Error(t, <-answered)
}

func TestAnAddressThatCannotBeHasARemedy(t *testing.T) {
	t.Parallel()
	s := listen(t, scrape)
	for addr, want := range map[string]string{
		s.Addr():        "http.addr \"" + s.Addr() + "\": the port is taken; stop what listens there, or set http.addr (--http, COXSWAIN_HTTP_ADDR) to a free one",
		"8086":          "; write http.addr (--http, COXSWAIN_HTTP_ADDR) as host:port, such as :8086",
		"192.0.2.1:80":  "http.addr \"192.0.2.1:80\": ", // not an address of this machine
		"127.0.0.1:1e9": "http.addr \"127.0.0.1:1e9\": cannot listen: ",
	} {
		_, err := setting.Listen(addr)
		require.ErrorContains(t, err, want)
	}
}
