package clienttest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// hosts is a web server that answers for all host names and logs them.
type hosts struct {
	*http.Transport            // connects to it for every host name
	mu              sync.Mutex // guards what follows
	log             []string   // the hosts of the requests
	refuse          bool       // the next request is answered 429
}

func newHosts(t testing.TB) *hosts {
	s := &hosts{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, r.Host)
		if s.refuse {
			s.refuse = false
			w.Header().Set("Retry-After", "2")
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(server.Close)
	s.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(s.CloseIdleConnections)
	return s
}

func (s *hosts) refuseNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = true
}

// asked returns the hosts of the requests since the last call of asked.
func (s *hosts) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

func get(t testing.TB, hc *http.Client, url string) *http.Response {
	t.Helper()
	resp, err := hc.Get(url)
	require.NoError(t, err)
	return resp
}

// failed returns the error of a request that gets no response.
func failed(t testing.TB, hc *http.Client, url string) error {
	t.Helper()
	resp, err := hc.Post(url, "", nil)
	if err == nil {
		_ = resp.Body.Close()
	}
	require.Error(t, err)
	return err
}

// One of three crawlers, each with a sidecar of its own, gets a 429 with Retry-After: 2
// from a host: for 2 s none of them requests that host, but all request another one.
func TestAnAnswerToOneCrawlerAppliesToAll(t *testing.T) {
	t.Parallel()
	clock, web, prefix, url := conformance.NewClock(), newHosts(t), redistest.Prefix(t), redistest.URL(t)
	crawlers := make([]*http.Client, 3)
	for i := range crawlers {
		s := sidecar(t, luatest.Open(t, lua.Options{URL: url, Clock: clock.Micros}), prefix, clock)
		require.NoError(t, s.Rules.Set([]api.Rule{{
			Name: "crawl", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 1000, PeriodMS: 3_600_000}},
			Penalty: &api.Penalty{JitterPercent: new(int64)},
		}}, 1))
		crawlers[i] = &http.Client{Transport: httplimit.NewTransport(
			dial(t, listen(t, s), client.Options{}), httplimit.TransportOptions{Base: web, Rule: "crawl", Timeout: patience},
		)}
	}
	all := func(host string, want int) {
		t.Helper()
		for _, hc := range crawlers {
			resp := get(t, hc, "http://"+host)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, want, resp.StatusCode)
		}
		require.Equal(t, slices.Repeat([]string{host}, 3), web.asked())
	}
	none := func(host string, after time.Duration) {
		t.Helper()
		for _, hc := range crawlers {
			var refused *client.LimitError
			require.ErrorAs(t, failed(t, hc, "http://"+host), &refused)
			require.Equal(t, "pause", refused.DeniedBy)
			got, ever := refused.RetryAfter()
			require.True(t, ever)
			require.Equal(t, after, got)
		}
		require.Empty(t, web.asked())
	}
	all("a.test", http.StatusOK)

	web.refuseNext()
	resp := get(t, crawlers[0], "http://a.test")
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode, "the caller sees it")
	require.Len(t, web.asked(), 1)

	none("a.test", 2*time.Second)
	all("b.test", http.StatusOK)
	clock.Advance(1999 * time.Millisecond)
	none("a.test", time.Millisecond)
	clock.Advance(time.Millisecond)
	all("a.test", http.StatusOK)
}
