package status_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a sidecar that counts its calls.
type fake struct {
	mu    sync.Mutex // guards what follows
	state api.InspectResult
	locks []api.LockEntry
	asked map[string]int
	err   error         // of inspect.snapshot
	slow  time.Duration // how long every call except health.get takes
	pages int           // of locks
}

func (f *fake) ask(ctx context.Context, method string, _, result any) error {
	if f.slow > 0 && method != api.HealthGet.Name {
		select {
		case <-time.After(f.slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = make(map[string]int)
	}
	f.asked[method]++
	switch r := result.(type) {
	case *api.InspectResult:
		*r = f.state
		return f.err
	case *api.HealthResult:
		*r = api.HealthResult{Ready: true, Checks: []api.HealthCheck{{Name: "redis", Detail: "away\x1b[2J", Cause: "refused", Fix: "start it", Docs: "docs/doctor.md#redis-reach"}}}
	case *api.LockListResult:
		r.Locks = f.locks
		if f.pages--; f.pages > 0 {
			r.Cursor = "more"
		}
	}
	return ctx.Err()
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[method]
}

// get makes a request to the page as a browser on this machine does.
func get(p *status.Page, path string) *httptest.ResponseRecorder {
	return request(p, http.MethodGet, path, "127.0.0.1:8087")
}

func request(p *status.Page, method, path, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

// document returns the present data of the page.
func document(t *testing.T, p *status.Page) (d struct {
	Rate  []float64
	Rules struct {
		Left int
		Rows []struct {
			Name             string
			Allowed, Refused []float64
			Decided          map[string]any
		}
	}
	Calls struct {
		Rows []struct {
			Name string
			Rate float64
		}
	}
	State  map[string]any
	Health api.HealthResult
	Lists  map[string]struct {
		Left int
		Note string
		Rows []map[string]any
	}
},
) {
	t.Helper()
	w := get(p, "/status.json")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	return d
}

func TestOnlyReadingIsPossible(t *testing.T) {
	t.Parallel()
	p := status.New((&fake{}).ask)
	defer p.Stop()
	for _, path := range []string{"/", "/status.json", "/config.yaml", "/other"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			w := request(p, method, path, "127.0.0.1:1")
			require.Equal(t, http.StatusMethodNotAllowed, w.Code, "%s %s", method, path)
			require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		}
	}
	require.Equal(t, http.StatusOK, request(p, "HEAD", "/", "127.0.0.1:1").Code)
	require.Equal(t, http.StatusNotFound, get(p, "/other").Code)
}

func TestOnlyThisMachineIsAnswered(t *testing.T) {
	t.Parallel()
	p := status.New((&fake{}).ask)
	defer p.Stop()
	for host, want := range map[string]int{
		"127.0.0.1:8087": 200, "127.0.0.1": 200, "localhost:31000": 200, "LOCALHOST": 200, "[::1]:8087": 200, "[::1]": 200, "127.1.2.3:80": 200,
		"evil.example": 421, "evil.example:8087": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1:8087": 421, "": 421, "0.0.0.0": 421,
	} {
		for _, path := range []string{"/", "/status.json", "/config.yaml"} {
			w := request(p, http.MethodGet, path, host)
			require.Equal(t, want, w.Code, "%q", host)
			if want != http.StatusOK {
				require.Contains(t, w.Body.String(), "kubectl port-forward")
			}
		}
	}
}

// The content policy allows only the page's own script and style, and the page makes no HTML of data.
func TestTheContentPolicyAllowsThePageAlone(t *testing.T) {
	t.Parallel()
	p := status.New((&fake{}).ask)
	defer p.Stop()
	w := get(p, "/")
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	for _, element := range []string{"script", "style"} {
		all := regexp.MustCompile(`(?s)<`+element+`[^>]*>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		require.Len(t, all, 1, element)
		sum := sha256.Sum256([]byte(all[0][1]))
		require.Contains(t, policy, element+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.True(t, strings.HasPrefix(policy, "default-src 'none'; "))
	require.NotContains(t, policy, "unsafe")
	require.NotRegexp(t, `(?i)<[^>]+\son\w+=|\sstyle="|https?://[^w]|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(`, page)
	for header, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		require.Equal(t, want, get(p, "/status.json").Header().Get(header))
	}
}

func TestAllViewersShareALookASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		p := status.New(f.ask)
		defer p.Stop()
		synctest.Wait()
		var viewers sync.WaitGroup
		for range 50 {
			viewers.Go(func() { require.Equal(t, http.StatusOK, get(p, "/status.json").Code) })
			viewers.Go(func() { require.Equal(t, http.StatusOK, get(p, "/config.yaml").Code) })
		}
		viewers.Wait()
		require.Equal(t, 1, f.count("lock.list"))
		require.Equal(t, 1, f.count("health.get"))
		time.Sleep(time.Second)
		document(t, p)
		require.Equal(t, 2, f.count("lock.list"))
	})
}

func TestWithoutViewersRedisIsNotAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		p := status.New(f.ask)
		time.Sleep(time.Hour)
		p.Stop()
		require.Equal(t, map[string]int{"inspect.snapshot": 721}, f.asked)
	})
}

func TestAllTextIsPrintable(t *testing.T) {
	t.Parallel()
	f := &fake{
		locks: []api.LockEntry{{Name: "a\x00b\u202ec", HeldBy: &api.Holder{Client: "\xff"}}},
		state: api.InspectResult{Config: "redis:\n  url: redis://*****@redis\n", Errors: []api.InspectError{{Text: "\x1b[31m"}}},
	}
	p := status.New(f.ask)
	defer p.Stop()
	d := document(t, p)
	require.Equal(t, `a\x00b\u202ec`, d.Lists["locks"].Rows[0]["name"])
	require.Equal(t, `\xff`, d.Lists["locks"].Rows[0]["held_by"].(map[string]any)["client"])
	require.Equal(t, `\x1b[31m`, d.State["errors"].([]any)[0].(map[string]any)["text"])
	require.Equal(t, []api.HealthCheck{{Name: "redis", Detail: `away\x1b[2J`, Cause: "refused", Fix: "start it", Docs: "docs/doctor.md#redis-reach"}}, d.Health.Checks)
	require.NotContains(t, d.State, "config")
	w := get(p, "/config.yaml")
	require.Equal(t, f.state.Config, w.Body.String())
	require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
}

func TestATableHasSoManyRows(t *testing.T) {
	t.Parallel()
	f := &fake{locks: make([]api.LockEntry, 1000)}
	for i := range f.locks {
		f.locks[i] = api.LockEntry{Name: strings.Repeat("x", i+1), Waiting: int64(i)}
	}
	for i := range 400 {
		f.state.Decisions = append(f.state.Decisions, api.RuleStats{Rule: strings.Repeat("r", i+1), Refused: int64(i)})
	}
	f.state.TruncatedRules = 7
	p := status.New(f.ask)
	defer p.Stop()
	d := document(t, p)
	require.Len(t, d.Lists["locks"].Rows, 300)
	require.Equal(t, 700, d.Lists["locks"].Left)
	require.EqualValues(t, 999, d.Lists["locks"].Rows[0]["waiting"])
	require.Len(t, d.Rules.Rows, 300)
	require.Equal(t, 107, d.Rules.Left)
	require.Len(t, d.Rules.Rows[0].Name, 400, "what refused most is in front")
}

func TestRatesAreOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.state.Rules = []api.InspectRule{{Name: "idle", Limits: []string{"1/1s"}}}
		count := func(calls, allowed, refused int64) {
			f.set(func() {
				f.state.Calls = []api.InspectTimes{{Name: "a", Count: 1}, {Name: "b", Count: calls}}
				f.state.Decisions = []api.RuleStats{{Rule: "busy", Allowed: allowed, Refused: refused}, {Rule: "before", Allowed: 2 * calls, Refused: 1000}}
			})
		}
		count(0, 0, 0)
		p := status.New(f.ask)
		defer p.Stop()
		synctest.Wait()
		require.Empty(t, document(t, p).Rate, "nothing is known of a rate yet")
		time.Sleep(4 * time.Second)
		count(100, 50, 25)
		time.Sleep(4 * time.Second) // there was a sample 3 s ago
		count(160, 80, 40)
		d := document(t, p)
		require.Equal(t, []float64{20, 20}, d.Rate)
		require.Equal(t, "busy", d.Rules.Rows[0].Name)
		require.Equal(t, []float64{10, 10}, d.Rules.Rows[0].Allowed)
		require.Equal(t, []float64{5, 5}, d.Rules.Rows[0].Refused)
		require.EqualValues(t, 40, d.Rules.Rows[0].Decided["refused"])
		require.Equal(t, "before", d.Rules.Rows[1].Name, "what refuses now is in front of what allows much, or refused much")
		require.Equal(t, "idle", d.Rules.Rows[2].Name)
		require.Equal(t, []float64{0, 0}, d.Rules.Rows[2].Refused)
		require.Equal(t, "b", d.Calls.Rows[0].Name)
		require.InDelta(t, 20, d.Calls.Rows[0].Rate, 0)
		require.Zero(t, d.Calls.Rows[1].Rate)

		time.Sleep(time.Hour)
		d = document(t, p)
		require.InDelta(t, 60, len(d.Rate), 1, "those of five minutes are kept")
		require.Zero(t, d.Rate[len(d.Rate)-1])
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	t.Parallel()
	f := &fake{err: errors.New("broken\x1b")}
	p := status.New(f.ask)
	defer p.Stop()
	for _, path := range []string{"/status.json", "/config.yaml"} {
		w := get(p, path)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "broken\\x1b\n", w.Body.String())
	}
	f.set(func() { f.err = nil })
	require.Equal(t, http.StatusOK, get(p, "/status.json").Code)
}

// Requests that wait for a look that fails get its error, and do not look again.
func TestAllViewersShareAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{slow: time.Hour}
		p := status.New(f.ask)
		defer p.Stop()
		began := time.Now()
		var viewers sync.WaitGroup
		for range 50 {
			viewers.Go(func() { require.Equal(t, http.StatusServiceUnavailable, get(p, "/status.json").Code) })
		}
		viewers.Wait()
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// With a slow Redis the first look takes longer than a look may. The page shows the pages that were read in time.
func TestAnUnfinishedFirstSurveyIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{slow: 900 * time.Millisecond, pages: 100, locks: []api.LockEntry{{Name: "a"}}}
		p := status.New(f.ask)
		defer p.Stop()
		d := document(t, p)
		require.Equal(t, "a", d.Lists["locks"].Rows[0]["name"])
		require.Equal(t, "still looking: 2 pages so far, and there are more keys", d.Lists["locks"].Note)
	})
}
