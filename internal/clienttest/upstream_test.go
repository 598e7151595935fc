package clienttest_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// site is a web server that logs its requests by the clock that all parts of the test share.
type site struct {
	host  string
	clock *conformance.Clock

	mu     sync.Mutex // guards what follows
	log    []hit
	refuse int // how many of the next requests get 429
}

type hit struct {
	at     time.Time
	by     string
	status int
}

func newSite(t *testing.T, clock *conformance.Clock) *site {
	s := &site{clock: clock}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	s.host = u.Host
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusOK
	if s.refuse > 0 {
		s.refuse--
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "2")
	}
	s.log = append(s.log, hit{s.clock.Now(), r.UserAgent(), status})
	w.WriteHeader(status)
}

func (s *site) hits() []hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

// crawler is a client that asks its sidecar, and fetches from sites, when a test calls it.
type crawler struct {
	t    *testing.T
	c    *client.Client
	name string
}

func (c crawler) ask(host string, waitMS int64) api.RatelimitResult {
	r, err := c.c.RatelimitAcquire(c.t.Context(), api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 100, PeriodMS: 1000}}, Key: host, WaitMS: waitMS,
	})
	if err != nil {
		c.t.Error(err)
	}
	return r
}

// fetch requests one page, and reports the response to the sidecar.
func (c crawler) fetch(host string) api.RatelimitReportResult {
	fail := func(err error) {
		if err != nil {
			c.t.Error(err)
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+host, http.NoBody)
	fail(err)
	req.Header.Set("User-Agent", c.name)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return api.RatelimitReportResult{}
	}
	fail(resp.Body.Close())
	seconds, _ := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64) // absent = 0
	r, err := c.c.RatelimitReport(c.t.Context(), api.RatelimitReportParams{
		Key: host, Status: int64(resp.StatusCode), RetryAfterMS: seconds * 1000,
	})
	fail(err)
	return r
}

// A server answers 429 with Retry-After: 2 to one of three crawlers, each with a
// sidecar of its own: the server's log shows that all three stop until then. They
// continue with another host.
func TestOneCrawlersRefusalStopsAllForThatHost(t *testing.T) {
	t.Parallel()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	clock := conformance.NewClock()
	r, prefix := luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: clock.Micros}), redistest.Prefix(t)
	crawlers := make([]crawler, 3)
	for i := range crawlers {
		socket := serveBy(t, r, prefix, clock)
		crawlers[i] = crawler{t, dial(t, socket, client.Options{}), "crawler " + strconv.Itoa(i)}
	}
	busy, quiet := newSite(t, clock), newSite(t, clock)
	for _, c := range crawlers {
		require.True(t, c.ask(busy.host, 0).Allowed)
		require.Zero(t, c.fetch(busy.host))
	}

	busy.refuse = 1
	require.True(t, crawlers[1].ask(busy.host, 0).Allowed)
	told := crawlers[1].fetch(busy.host)
	require.Equal(t, api.RatelimitReportResult{WaitMS: 2000, PausedUntilAtMS: clock.Now().UnixMilli() + 2000}, told)
	for _, c := range crawlers {
		refused := c.ask(busy.host, 0)
		require.False(t, refused.Allowed)
		require.Equal(t, "pause", refused.DeniedBy)
		require.Equal(t, told.WaitMS, refused.RetryAfterMS)
		require.True(t, c.ask(quiet.host, 0).Allowed)
		require.Zero(t, c.fetch(quiet.host))
	}

	// All three wait for the host, until the time in Retry-After is over.
	var wg sync.WaitGroup
	for _, c := range crawlers {
		wg.Go(func() {
			if c.ask(busy.host, 30_000).Allowed {
				c.fetch(busy.host)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	late := time.After(patience)
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-late:
			t.Fatal("the crawlers never end")
		case <-time.After(time.Millisecond):
			clock.Advance(10 * time.Millisecond)
		}
	}

	var after []string
	for i, h := range busy.hits() {
		switch {
		case i < 3:
			require.Equal(t, http.StatusOK, h.status)
		case i == 3:
			require.Equal(t, hit{h.at, "crawler 1", http.StatusTooManyRequests}, h)
		default:
			require.GreaterOrEqual(t, h.at.UnixMilli(), told.PausedUntilAtMS, "%s came too early", h.by)
			after = append(after, h.by)
		}
	}
	require.ElementsMatch(t, []string{"crawler 0", "crawler 1", "crawler 2"}, after)
	for _, h := range quiet.hits() {
		require.Less(t, h.at.UnixMilli(), told.PausedUntilAtMS)
	}
	require.Len(t, quiet.hits(), 3)
}
