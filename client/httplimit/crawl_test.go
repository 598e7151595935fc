package httplimit_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// sidecar starts one with these rules, and returns a client of it.
func sidecar(t testing.TB, url, prefix string, clock *conformance.Clock, rules ...api.Rule) *client.Client {
	t.Helper()
	tel, keys, set := telemetry.Nop(), coord.NewKeys(prefix, ""), coord.NewRules()
	require.NoError(t, set.Set(rules, 1))
	r, err := lua.Open(lua.Options{URL: url, Telemetry: tel, Clock: clock.Micros})
	require.NoError(t, err)
	leases := coord.NewLeases(tel)
	signals := coord.NewSignals(r, keys)
	lines := coord.NewLines(r, signals, leases)
	path := filepath.Join(t.TempDir(), "s")
	s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: tel}, rpc.Services{
		Leases: leases,
		Methods: slices.Concat(
			coord.NewLocks(r, keys, leases, lines).Methods(),
			coord.NewRateLimiter(coord.RateLimiterOptions{
				Runner: r, Keys: keys, Rules: set, Leases: leases, Lines: lines, Signals: signals, Telemetry: tel, Clock: clock,
			}).Methods(),
		),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ended)
		lines.Stop()
		signals.Stop()
		leases.Stop(context.Background())
		require.NoError(t, r.Close())
	})
	c, err := client.Dial(t.Context(), client.Options{Socket: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// site is a web server of several hosts with a log of its own.
type site struct {
	*http.Transport            // reaches it under any name
	mu              sync.Mutex // guards what follows
	log             []string   // the hosts that were asked for
	refuse          bool       // the next request is answered 429
}

func newSite(t testing.TB) *site {
	s := &site{}
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, r.Host)
		if s.refuse {
			s.refuse = false
			w.Header().Set("Retry-After", "2")
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		hello(w, r)
	})
	s.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(s.CloseIdleConnections)
	return s
}

func (s *site) refuseNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = true
}

// asked are the hosts that were asked for since the last look.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// One of three crawlers, each with a sidecar of its own, is told to stay away from
// a host for 2 s: all of them do until then, and go on at another host.
func TestWhatOneCrawlerIsToldHoldsForAll(t *testing.T) {
	t.Parallel()
	clock, web, prefix, url := conformance.NewClock(), newSite(t), redistest.Prefix(t), redistest.URL(t)
	crawlers := make([]*http.Client, 3)
	for i := range crawlers {
		crawlers[i] = &http.Client{Transport: httplimit.NewTransport(sidecar(t, url, prefix, clock, api.Rule{
			Name: "crawl", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 1000, PeriodMS: 3_600_000}},
			Penalty: &api.Penalty{JitterPercent: new(int64)},
		}), httplimit.TransportOptions{Base: web, Rule: "crawl", Timeout: patience})}
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
			var refused *httplimit.LimitError
			require.ErrorAs(t, failed(t, hc, "http://"+host, nil), &refused)
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
