package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

const (
	acquire = "ratelimit.acquire"
	report  = "ratelimit.report"
	done    = "ratelimit.done"
	refund  = "ratelimit.refund"
)

// remote is a server that answers as fn does.
func remote(t testing.TB, fn http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(fn)
	t.Cleanup(s.Close)
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// limited is an HTTP client that asks f, with connections of its own.
func limited(t testing.TB, f *fake, o httplimit.TransportOptions) *http.Client {
	t.Helper()
	if o.Base == nil {
		o.Base = &http.Transport{}
	}
	if o.Rule == "" && o.RuleOf == nil {
		o.Rule = "crawl"
	}
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	hc := &http.Client{Transport: httplimit.NewTransport(f.dial(t), o)}
	t.Cleanup(hc.CloseIdleConnections)
	return hc
}

// heard collects the errors that OnError gets.
type heard struct {
	mu   sync.Mutex
	errs []error
}

func (h *heard) hear(_ *http.Request, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *heard) all() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errs
}

func get(t testing.TB, hc *http.Client, url string) *http.Response {
	t.Helper()
	resp, err := hc.Get(url)
	require.NoError(t, err)
	return resp
}

// failed returns the error of a request that gets no response.
func failed(t testing.TB, hc *http.Client, url string, body io.Reader) error {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, body)
	require.NoError(t, err)
	return failedBy(t, hc.Do, r)
}

func failedBy(t testing.TB, do func(*http.Request) (*http.Response, error), r *http.Request) error {
	t.Helper()
	resp, err := do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	require.Error(t, err)
	return err
}

func TestARequestIsAskedForSentAndReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if got := f.methods(); !slices.Equal(got, []string{acquire}) || len(r.Header) != 2 {
			t.Errorf("sent after %v, with %v", got, r.Header)
		}
		hello(w, r)
	})
	hc := limited(t, f, httplimit.TransportOptions{})
	resp := get(t, hc, s.URL+"/path")
	require.Equal(t, m{"rule": "crawl", "key": "127.0.0.1", "cost": int64(1)}, f.only(t, acquire))
	p := f.only(t, report)
	delete(p, "latency_ms") // it varies
	require.Equal(t, m{"rule": "crawl", "key": "127.0.0.1", "status": int64(200)}, p, "without the grant: its place is in use")
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{acquire, report, done}, f.methods())
	require.Equal(t, m{"grant": "g1"}, f.only(t, done))
}

// The permit is held until the body of the response has ended.
func TestThePlaceIsFreedOnceWhenTheBodyEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	hc := limited(t, f, httplimit.TransportOptions{})
	resp := get(t, hc, remote(t, hello).URL)
	b := make([]byte, 5)
	_, err := io.ReadFull(resp.Body, b)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
	_, err = resp.Body.Read(b)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []string{acquire, report, done}, f.methods(), "the end was read")
	require.NoError(t, resp.Body.Close())
	require.NoError(t, resp.Body.Close())
	require.Len(t, f.methods(), 3)
}

func TestABodyThatBreaksFreesThePlace(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		hello(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	resp := get(t, limited(t, f, httplimit.TransportOptions{}), s.URL)
	_, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, []string{acquire, report, done}, f.methods())
	require.NoError(t, resp.Body.Close())
}

func TestAResponseWithoutABodyIsReportedWithItsGrant(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	resp := get(t, limited(t, f, httplimit.TransportOptions{}), s.URL)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "g1", f.only(t, report)["grant"])
	require.Equal(t, []string{acquire, report}, f.methods())

	// If the report fails, ratelimit.done releases the permit.
	f = newFake(t)
	f.on(report, fault("INTERNAL: the log has the cause"))
	h := &heard{}
	resp = get(t, limited(t, f, httplimit.TransportOptions{OnError: h.hear}), s.URL)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{acquire, report, done}, f.methods())
	require.Len(t, h.all(), 1)
	require.ErrorIs(t, h.all()[0], api.Internal)
	require.ErrorContains(t, h.all()[0], "httplimit: ")
}

// When the caller sees the 429, the pause is already in force.
func TestWhatTheServerAsksForIsReportedBeforeTheCallerSeesIt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]any{"0": int64(-1), "2": int64(2000), "86401": int64(86_400_000), "": nil, "soon": nil} {
		f := newFake(t)
		s := remote(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "slow down")
		})
		resp := get(t, limited(t, f, httplimit.TransportOptions{}), s.URL)
		p := f.only(t, report)
		require.Equal(t, int64(429), p["status"])
		require.Equal(t, want, p["retry_after_ms"], value)
		require.Equal(t, []string{acquire, report}, f.methods())
		require.NoError(t, resp.Body.Close())
	}
	s := remote(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "9999999999999") })
	for longest, want := range map[time.Duration]int64{time.Minute: 60_000, 9000 * time.Hour: 31_622_400_000} {
		f := newFake(t)
		resp := get(t, limited(t, f, httplimit.TransportOptions{MaxRetryAfter: longest}), s.URL)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, f.only(t, report)["retry_after_ms"])
	}
}

func TestARefusedRequestIsNotSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer m
		text   string
		after  time.Duration
		ever   bool
	}{
		{m{}, `rule "crawl" refuses "127.0.0.1" (limit): retry after 1.5s`, 1500 * time.Millisecond, true},
		{m{"denied_by": "pause", "retry_after_ms": 2000}, `rule "crawl" refuses "127.0.0.1" (pause): retry after 2s`, 2 * time.Second, true},
		{m{"denied_by": "deny_list", "retry_after_ms": -1}, `rule "crawl" never admits "127.0.0.1" (deny_list)`, 0, false},
	} {
		f := newFake(t)
		f.on(acquire, deny(c.answer))
		s := remote(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
		sent := &closing{Reader: strings.NewReader("body")}
		err := failed(t, limited(t, f, httplimit.TransportOptions{}), s.URL, sent)
		require.ErrorIs(t, err, client.ErrLimited)
		var refused *client.LimitError
		require.ErrorAs(t, err, &refused)
		require.EqualError(t, refused, c.text)
		require.Equal(t, "127.0.0.1", refused.Key)
		require.Equal(t, int64(80), refused.Limit)
		after, ever := refused.RetryAfter()
		require.Equal(t, c.after, after)
		require.Equal(t, c.ever, ever)
		require.True(t, sent.closed.Load(), "the body is closed")
		require.Equal(t, []string{acquire}, f.methods())
	}
}

// closing is a body that records whether it was closed.
type closing struct {
	io.Reader
	closed atomic.Bool
}

func (c *closing) Close() error { c.closed.Store(true); return nil }

func TestTheOptionsSayWhatIsAsked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	hc := limited(t, f, httplimit.TransportOptions{
		RuleOf: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/") },
		Key:    func(r *http.Request) string { return r.URL.Query().Get("k") },
		Cost:   func(r *http.Request) int64 { return r.ContentLength },
		Wait:   1500*time.Millisecond + 1,
	})
	for _, c := range []struct {
		path, body string
		want       m
	}{
		{"/search?k=a", "12345", m{"rule": "search", "key": "a", "cost": int64(5), "wait_ms": int64(1501)}},
		{"/search?k=b", "", m{"rule": "search", "key": "b", "cost": int64(0), "wait_ms": int64(1501)}},
	} {
		resp, err := hc.Post(remote(t, hello).URL+c.path, "text/plain", strings.NewReader(c.body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		calls := f.Calls()
		require.Equal(t, clienttest.Call{Method: acquire, Params: c.want}, calls[len(calls)-3])
	}
	before := len(f.Calls())
	resp := get(t, hc, remote(t, hello).URL+"/?k=c")
	require.NoError(t, resp.Body.Close())
	require.Len(t, f.Calls(), before, "no rule, no limit")

	longest := limited(t, f, httplimit.TransportOptions{Wait: time.Hour})
	resp = get(t, longest, remote(t, hello).URL)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, int64(60_000), f.Calls()[before].Params["wait_ms"])
}

func TestTheKeyIsTheHostOfTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://Example.COM/x": "example.com", "https://example.com:8443/": "example.com", "http://example.com./": "example.com",
		"http://[2001:DB8::1]:80/": "2001:db8::1", "http://u:p@example.com/": "example.com",
		"http://[::1]/": "::1", "http://[0:0:0:0:0:0:0:1]/": "::1", "http://[::ffff:192.0.2.1]/": "192.0.2.1", "http://192.0.2.1/": "192.0.2.1",
		"http://bücher.de/": "xn--bcher-kva.de", "http://BÜCHER.DE./": "xn--bcher-kva.de", "http://XN--BCHER-KVA.de/": "xn--bcher-kva.de",
		"http://bu\u0308cher。de/": "xn--bcher-kva.de", "http://b%C3%BCcher.de/": "xn--bcher-kva.de", "http://a_b.example/": "a_b.example",
		"http://faß.de/": "xn--fa-hia.de", "http://ü_ü.example/": "ü_ü.example", "http://[fe80::1%25eth0]/": "fe80::1%eth0",
	} {
		r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
		require.NoError(t, err)
		r.Host = "other.example" // the name in the Host header does not count
		require.Equal(t, want, httplimit.HostKey(r))
	}
}

// base is a RoundTripper that calls a function of a test.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

func TestWhatWasNeverSentIsGivenBack(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	f := newFake(t)
	err = failed(t, limited(t, f, httplimit.TransportOptions{}), gone, nil)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, []string{acquire, refund, done}, f.methods())
	require.Equal(t, m{"grant": "g1"}, f.only(t, refund))
}

// A request that may have reached the server keeps its cost; only its permit is released.
func TestARequestThatMayHaveBeenSentKeepsItsCharge(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	err := failed(t, limited(t, f, httplimit.TransportOptions{}), s.URL, strings.NewReader("x"))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []string{acquire, done}, f.methods())

	// A failed dial does not prove that it was not sent, if a kept connection was tried before.
	f = newFake(t)
	err = failed(t, limited(t, f, httplimit.TransportOptions{Base: base(func(r *http.Request) (*http.Response, error) {
		httptraceGotConn(r)
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	})}), "http://example.com", nil)
	require.ErrorContains(t, err, "refused")
	require.Equal(t, []string{acquire, done}, f.methods())
}

func TestTheRequestIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	sent := &closing{Reader: strings.NewReader("body")}
	r, err := http.NewRequest(http.MethodPost, remote(t, hello).URL, sent)
	require.NoError(t, err)
	copied := r.Clone(r.Context())
	resp, err := limited(t, f, httplimit.TransportOptions{}).Transport.RoundTrip(r)
	require.NoError(t, err)
	require.Same(t, r, resp.Request)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, copied.Header, r.Header)
	require.Equal(t, copied.URL, r.URL)
	require.True(t, sent.closed.Load())
}

func TestARequestThatIsCancelledWaitsNoLonger(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	f.on(acquire, func(m) (any, error) { cancel(errors.New("changed my mind")); return nil, nil })
	sent := &closing{Reader: strings.NewReader("body")}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://example.com", sent)
	require.NoError(t, err)
	err = failedBy(t, limited(t, f, httplimit.TransportOptions{FailOpen: true}).Do, r)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, sent.closed.Load())
}

// If a request ends while the sidecar is asked, its cost and its permit are given back.
func TestAGrantThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := errors.New("changed my mind")
	r, err := http.NewRequestWithContext(&lateContext{Context: ctx, err: cancelled}, http.MethodGet, "http://example.com", http.NoBody)
	require.NoError(t, err)
	hc := limited(t, f, httplimit.TransportOptions{
		Base: base(func(*http.Request) (*http.Response, error) { t.Error("it was sent"); return nil, cancelled }),
	})
	f.on(acquire, func(p m) (any, error) {
		r.Context().(*lateContext).over.Store(true)
		return allow(m{"grant": "g1", "held": true})(p)
	})
	err = failedBy(t, hc.Transport.RoundTrip, r)
	require.ErrorIs(t, err, cancelled)
	require.Equal(t, []string{acquire, refund, done}, f.methods())
	cancel()
}

// lateContext has an error but does not close Done, as if it ended just after the call to the sidecar.
type lateContext struct {
	context.Context
	over atomic.Bool
	err  error
}

func (c *lateContext) Err() error {
	if c.over.Load() {
		return c.err
	}
	return c.Context.Err()
}

func TestWithoutASidecar(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var sent atomic.Int32
	s := remote(t, func(w http.ResponseWriter, r *http.Request) { sent.Add(1); hello(w, r) })
	h := &heard{}
	o := httplimit.TransportOptions{Timeout: time.Millisecond, OnError: h.hear}
	closed := limited(t, f, o)
	o.FailOpen = true
	open := limited(t, f, o)
	f.Stop()

	err := failed(t, closed, s.URL, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, client.ErrLimited)
	require.Zero(t, sent.Load())
	require.Empty(t, h.all(), "the caller has the error")

	resp := get(t, open, s.URL)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, int32(1), sent.Load())
	require.Len(t, h.all(), 1)
	require.ErrorIs(t, h.all()[0], context.DeadlineExceeded)
}

// FailOpen applies only if the sidecar made no decision; it overrules none.
func TestFailOpenOverrulesNoAnswer(t *testing.T) {
	t.Parallel()
	for text, open := range map[string]bool{
		"UNAVAILABLE: Redis does not answer":     false,
		"NOT_FOUND: there is no rule crawl":      false,
		"INVALID_ARGUMENT: key: must be shorter": false,
		"INTERNAL: the log has the cause":        true,
		"OVERLOADED: read replies first":         true,
		"DRAINING: shutting down":                true,
		"DEADLINE_EXCEEDED: too slow":            true,
	} {
		f := newFake(t)
		f.on(acquire, fault(text))
		resp, err := limited(t, f, httplimit.TransportOptions{FailOpen: true}).Get(remote(t, hello).URL)
		if open {
			require.NoError(t, err, text)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, []string{acquire}, f.methods())
			continue
		}
		require.ErrorContains(t, err, text)
	}
}

// A grant without a permit needs no ratelimit.done.
func TestWithoutAPlaceNothingIsEnded(t *testing.T) {
	t.Parallel()
	for _, answer := range []m{{"degraded": true}, {"grant": "g1"}} {
		f := newFake(t)
		f.on(acquire, allow(answer))
		resp := get(t, limited(t, f, httplimit.TransportOptions{}), remote(t, hello).URL)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, []string{acquire, report}, f.methods())
	}
}

func TestABodyOfASwitchedProtocolCanStillBeWritten(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(nc, nc) // until the client closes its writing side
	})
	r, err := http.NewRequest(http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := limited(t, f, httplimit.TransportOptions{}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	rw, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(rw, "ping")
	require.NoError(t, err)
	half, ok := resp.Body.(interface{ CloseWrite() error })
	require.True(t, ok, "the connection cannot be half closed")
	require.NoError(t, half.CloseWrite())
	b, err := io.ReadAll(rw)
	require.NoError(t, err)
	require.Equal(t, "ping", string(b))
	require.NoError(t, rw.Close())
	require.Equal(t, []string{acquire, report, done}, f.methods())
}

func TestRedirectsAreRequestsOfTheirOwn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return
		}
		hello(w, r)
	})
	resp := get(t, limited(t, f, httplimit.TransportOptions{}), s.URL+"/old")
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{acquire, report, done, acquire, report, done}, f.methods())
}

func TestManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := remote(t, hello)
	hc := limited(t, f, httplimit.TransportOptions{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			resp, err := hc.Get(s.URL)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	wg.Wait()
	require.Len(t, f.methods(), 60)
}

func TestMistakesOfTheProgramAreReturnedAtOnce(t *testing.T) {
	t.Parallel()
	c := newFake(t).dial(t)
	require.PanicsWithValue(t, "httplimit: TransportOptions name no rule; set Rule or RuleOf", func() {
		httplimit.NewTransport(c, httplimit.TransportOptions{})
	})
	require.PanicsWithValue(t, "httplimit: the client is nil; give the one of client.Dial", func() {
		httplimit.NewTransport(nil, httplimit.TransportOptions{Rule: "crawl"})
	})
	require.PanicsWithValue(t, "httplimit: HandlerOptions name no rule; set Rule or RuleOf", func() {
		httplimit.Handler(c, httplimit.HandlerOptions{})
	})
}
