package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

// httptraceGotConn calls GotConn of the request's trace, as a transport does.
func httptraceGotConn(r *http.Request) {
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
}

// served returns the response of the handler that limits next.
func served(t testing.TB, f *fake, o httplimit.HandlerOptions, next http.HandlerFunc, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	if o.Rule == "" && o.RuleOf == nil {
		o.Rule = "api"
	}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	w := httptest.NewRecorder()
	httplimit.Handler(f.dial(t), o)(next).ServeHTTP(w, r)
	return w
}

// fields returns the header fields about limits, and the body's type.
func fields(h http.Header) map[string]string {
	out := map[string]string{}
	for k, v := range h {
		out[http.CanonicalHeaderKey(k)] = strings.Join(v, " | ")
	}
	return out
}

func body(t testing.TB, w *httptest.ResponseRecorder) m {
	t.Helper()
	var p m
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body.String())
	return p
}

func never(t testing.TB) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("it was served") }
}

func TestARequestIsServedWithItsDecision(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	w := served(t, f, httplimit.HandlerOptions{}, func(w http.ResponseWriter, r *http.Request) {
		d, ok := httplimit.FromContext(r.Context())
		require.True(t, ok)
		require.Equal(t, "user:alice", d.Key)
		require.Equal(t, int64(79), d.Remaining)
		require.Equal(t, "79", w.Header().Get("X-RateLimit-Remaining"), "set before the handler runs")
		require.Equal(t, []string{acquire}, f.methods(), "its place is held meanwhile")
		w.WriteHeader(http.StatusTeapot)
	}, from(stranger, "X-User-Id", "alice"))
	require.Equal(t, http.StatusTeapot, w.Code)
	require.Equal(t, m{"rule": "api", "key": "user:alice", "cost": int64(1)}, f.only(t, acquire))
	require.Equal(t, map[string]string{
		"Ratelimit": `"crawl:80/10m";r=79;t=8`, "Ratelimit-Policy": `"crawl:80/10m";q=80;w=600`,
		"X-Ratelimit-Limit": "80", "X-Ratelimit-Remaining": "79", "X-Ratelimit-Reset": "8",
	}, fields(w.Header()))
	require.Equal(t, []string{acquire, done}, f.methods())
	_, ok := httplimit.FromContext(t.Context())
	require.False(t, ok)
}

func TestAPanicGivesThePermitBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	require.PanicsWithValue(t, "oh", func() {
		served(t, f, httplimit.HandlerOptions{}, func(http.ResponseWriter, *http.Request) { panic("oh") }, from(stranger))
	})
	require.Equal(t, []string{acquire, done}, f.methods())
}

func TestARefusedRequestIsAnswered429(t *testing.T) {
	t.Parallel()
	const quota = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	const title = "Request cannot be satisfied as assigned quota has been exceeded"
	limits := map[string]string{
		"Ratelimit": `"crawl:80/10m";r=0;t=2`, "Ratelimit-Policy": `"crawl:80/10m";q=80;w=600`,
		"X-Ratelimit-Limit": "80", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "8",
	}
	for name, c := range map[string]struct {
		answer m
		fields map[string]string
		body   m
	}{
		"limit": {m{}, map[string]string{"Retry-After": "2"}, m{
			"type": quota, "title": title, "detail": "the limit 80/10m is used up; try again in 2 s", "retry_after_ms": 1500.0,
			"violated-policies": []any{"crawl:80/10m"},
		}},
		"never": {m{"retry_after_ms": -1}, map[string]string{"Ratelimit": `"crawl:80/10m";r=0;t=8`}, m{
			"type": quota, "title": title, "detail": "the limit 80/10m is used up; trying again is of no use", "retry_after_ms": -1.0,
			"violated-policies": []any{"crawl:80/10m"},
		}},
		"at once": {m{"retry_after_ms": 0}, map[string]string{"Retry-After": "1", "Ratelimit": `"crawl:80/10m";r=0;t=0`}, m{
			"type": quota, "title": title, "detail": "the limit 80/10m is used up", "retry_after_ms": 0.0,
			"violated-policies": []any{"crawl:80/10m"},
		}},
		"pause": {
			m{"denied_by": "pause", "remaining": 7, "retry_after_ms": 3_600_000},
			map[string]string{"Retry-After": "3600", "Ratelimit": `"crawl:80/10m";r=7;t=8`, "X-Ratelimit-Remaining": "7"},
			m{"detail": "requests are paused; try again in 3600 s", "retry_after_ms": 3.6e6},
		},
		"delay": {
			m{"denied_by": "delay", "retry_after_ms": 1000},
			map[string]string{"Retry-After": "1", "Ratelimit": `"crawl:80/10m";r=0;t=1`},
			m{"detail": "it is too soon after the last request; try again in 1 s", "retry_after_ms": 1000.0},
		},
		"concurrency": {
			m{"denied_by": "concurrency", "retry_after_ms": 1},
			map[string]string{"Retry-After": "1", "Ratelimit": `"crawl:80/10m";r=0;t=1`},
			m{"detail": "too many requests are under way; try again in 1 s", "retry_after_ms": 1.0},
		},
		"deny_list": {
			m{"denied_by": "deny_list", "retry_after_ms": -1, "source": "list"},
			nil,
			m{"detail": "requests of this caller are refused; trying again is of no use", "retry_after_ms": -1.0},
		},
	} {
		f := newFake(t)
		f.on(acquire, deny(c.answer))
		w := served(t, f, httplimit.HandlerOptions{}, never(t), from(stranger))
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		want := map[string]string{"Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
		if name != "deny_list" {
			for k, v := range limits {
				want[k] = v
			}
		}
		for k, v := range c.fields {
			want[k] = v
		}
		require.Equal(t, want, fields(w.Header()), name)
		problem := m{"type": "about:blank", "title": "Too Many Requests", "status": 429.0, "rule": "crawl", "denied_by": "limit"}
		if by, ok := c.answer["denied_by"]; ok {
			problem["denied_by"] = by
		}
		for k, v := range c.body {
			problem[k] = v
		}
		require.Equal(t, problem, body(t, w), name)
		require.Equal(t, []string{acquire}, f.methods())
	}
}

func TestABadIdentifierIsAnswered400(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	w := served(t, f, httplimit.HandlerOptions{}, never(t), from(stranger, "X-User-Id", ""))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(t, m{
		"type": "about:blank", "title": "Bad Request", "status": 400.0,
		"detail": "X-User-Id is empty; send 1 to 128 bytes of UTF-8 without control characters, or leave it out",
	}, body(t, w))

	o := httplimit.HandlerOptions{Key: func(*http.Request) (string, error) { return "", errors.New("no session") }}
	w = served(t, f, o, never(t), from(stranger))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "no session", body(t, w)["detail"])
	o.Key = func(*http.Request) (string, error) { return "", nil }
	w = served(t, f, o, never(t), from(stranger))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "nothing says who is calling", body(t, w)["detail"])
	require.Empty(t, f.methods(), "nobody is asked")
}

func TestFaultsAreMasked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on(acquire, fault("INTERNAL: secret 10.1.2.3"))
	h := &heard{}
	w := served(t, f, httplimit.HandlerOptions{OnError: h.hear}, never(t), from(stranger))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, m{
		"type": "about:blank", "title": "Internal Server Error", "status": 500.0,
		"detail": "the request could not be checked against its limit",
	}, body(t, w))
	require.Empty(t, w.Header().Get("RateLimit"))
	require.Len(t, h.all(), 1)
	require.ErrorIs(t, h.all()[0], api.Internal)
}

func TestTemporaryErrorsAreAnsweredWith503(t *testing.T) {
	t.Parallel()
	for code, want := range map[api.Code]int{
		api.Unavailable: http.StatusServiceUnavailable, api.Draining: http.StatusServiceUnavailable,
		api.Overloaded: http.StatusServiceUnavailable, api.DeadlineExceeded: http.StatusServiceUnavailable,
		api.Internal: http.StatusInternalServerError, api.NotFound: http.StatusInternalServerError,
	} {
		f := newFake(t)
		f.on(acquire, fault(string(code)+": redis is out of memory"))
		w := served(t, f, httplimit.HandlerOptions{}, never(t), from(stranger))
		require.Equal(t, want, w.Code, code)
		require.Equal(t, "the request could not be checked against its limit", body(t, w)["detail"], code)
	}
}

func TestAHandlerWithoutASidecar(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.dial(t)
	f.Stop()
	h := &heard{}
	for open, want := range map[bool]int{false: http.StatusServiceUnavailable, true: http.StatusNoContent} {
		limit := httplimit.Handler(c, httplimit.HandlerOptions{Rule: "api", Timeout: time.Millisecond, FailOpen: open, OnError: h.hear})
		w := httptest.NewRecorder()
		limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, ok := httplimit.FromContext(r.Context())
			require.False(t, ok, "nobody decided")
			w.WriteHeader(http.StatusNoContent)
		})).ServeHTTP(w, from(stranger))
		require.Equal(t, want, w.Code)
	}
	require.Len(t, h.all(), 2)
	require.ErrorIs(t, h.all()[0], context.DeadlineExceeded)
}

func TestHandlersMayBeStackedAndChoose(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.on(acquire, func(p m) (any, error) {
		return decision(m{"rule": p["rule"], "band": map[any]string{"user": "5/1s", "all": "1000/1d"}[p["rule"]]}), nil
	})
	c := f.dial(t)
	outer := httplimit.Handler(c, httplimit.HandlerOptions{
		Rule: "all", Timeout: patience, Key: func(*http.Request) (string, error) { return "all", nil },
	})
	inner := httplimit.Handler(c, httplimit.HandlerOptions{
		Timeout: patience, Wait: time.Second, Cost: func(*http.Request) int64 { return 3 },
		RuleOf: func(r *http.Request) string {
			if r.URL.Path == "/healthz" {
				return ""
			}
			return "user"
		},
	})
	serve := func(path string) *httptest.ResponseRecorder {
		r, w := from(stranger), httptest.NewRecorder()
		r.URL.Path = path
		outer(inner(http.HandlerFunc(hello))).ServeHTTP(w, r)
		require.Equal(t, "hello", w.Body.String())
		return w
	}
	w := serve("/")
	require.Equal(t, []string{`"all:1000/1d";r=79;t=8`, `"user:5/1s";r=79;t=8`}, w.Header().Values("RateLimit"))
	require.Equal(t, []string{`"all:1000/1d";q=80;w=86400`, `"user:5/1s";q=80;w=1`}, w.Header().Values("RateLimit-Policy"))
	require.Equal(t, clienttest.Call{Method: acquire, Params: m{"rule": "user", "key": "ip:203.0.113.9", "cost": int64(3), "wait_ms": int64(1000)}}, f.Calls()[1])
	serve("/healthz")
	require.Len(t, f.Calls(), 3)
}

// The permit is released although the context of the request has ended.
func TestAClientThatLeavesFreesThePlace(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	h := &heard{}
	served(t, f, httplimit.HandlerOptions{OnError: h.hear}, func(http.ResponseWriter, *http.Request) { cancel() }, from(stranger).WithContext(ctx))
	require.Equal(t, []string{acquire, done}, f.methods())
	require.Empty(t, h.all())
}

func TestFieldsSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	full := api.RatelimitResult{
		Allowed: true, Rule: "api", Band: "10/1s", Limit: 10, Remaining: 12, ResetAfterMS: 1, ResetAtMS: 1, Source: "redis",
	}
	for name, c := range map[string]struct {
		change             func(*api.RatelimitResult)
		limit, policy, xrl string
	}{
		"all":            {func(*api.RatelimitResult) {}, `"api:10/1s";r=12;t=1`, `"api:10/1s";q=10;w=1`, "10"},
		"unused":         {func(r *api.RatelimitResult) { r.ResetAfterMS = 0 }, `"api:10/1s";r=12;t=0`, `"api:10/1s";q=10;w=1`, "10"},
		"short period":   {func(r *api.RatelimitResult) { r.Band = "10/1500ms" }, `"api:10/1500ms";r=12;t=1`, `"api:10/1500ms";q=10`, "10"},
		"whole seconds":  {func(r *api.RatelimitResult) { r.Band = "10/2000ms" }, `"api:10/2000ms";r=12;t=1`, `"api:10/2000ms";q=10;w=2`, "10"},
		"unknown period": {func(r *api.RatelimitResult) { r.Band = "10/fortnight" }, `"api:10/fortnight";r=12;t=1`, `"api:10/fortnight";q=10`, "10"},
		"long period":    {func(r *api.RatelimitResult) { r.Band = "10/366d" }, `"api:10/366d";r=12;t=1`, `"api:10/366d";q=10;w=31622400`, "10"},
		"endless period": {func(r *api.RatelimitResult) { r.Band = "10/99999999999999999999d" }, `"api:10/99999999999999999999d";r=12;t=1`, `"api:10/99999999999999999999d";q=10`, "10"},
		"strange name":   {func(r *api.RatelimitResult) { r.Rule = "a\"b\\c\r\n é" }, `"a\"b\\c%0D%0A %C3%A9:10/1s";r=12;t=1`, `"a\"b\\c%0D%0A %C3%A9:10/1s";q=10;w=1`, "10"},
		"local":          {func(r *api.RatelimitResult) { r.Degraded, r.Source = true, "local" }, `"api:10/1s";r=12;t=1`, `"api:10/1s";q=10;w=1`, "10"},
		"open":           {func(r *api.RatelimitResult) { r.Degraded, r.Source, r.ResetAtMS = true, "local", 0 }, "", "", ""},
		"shadow":         {func(r *api.RatelimitResult) { r.Shadow = true }, "", "", ""},
		"allow list":     {func(r *api.RatelimitResult) { r.Source = "list" }, "", "", ""},
		"no band":        {func(r *api.RatelimitResult) { r.Band = "" }, "", "", ""},
	} {
		r, h := full, http.Header{}
		c.change(&r)
		httplimit.SetFields(h, httplimit.Decision{RatelimitResult: r})
		require.Equal(t, c.limit, h.Get("RateLimit"), name)
		require.Equal(t, c.policy, h.Get("RateLimit-Policy"), name)
		require.Equal(t, c.xrl, h.Get("X-RateLimit-Limit"), name)
		require.Empty(t, h.Get("Retry-After"), name)
	}
}
