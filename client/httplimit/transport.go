package httplimit

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// DefaultMaxRetryAfter is the longest Retry-After that is accepted by default. It equals the
// longest default penalty of a rule.
const DefaultMaxRetryAfter = 24 * time.Hour

// longestRetryAfter is the largest value that a report accepts.
const longestRetryAfter = 366 * 24 * time.Hour

// TransportOptions configure how the requests that are sent are limited. Rule or RuleOf is required.
type TransportOptions struct {
	// Base sends the allowed requests; nil = http.DefaultTransport.
	Base http.RoundTripper
	// Rule is the rule of every request.
	Rule string
	// RuleOf selects the rule of each request, instead of Rule. If it returns an empty name,
	// the request is neither limited nor reported.
	RuleOf func(*http.Request) string
	// Key returns the key under which a request is counted; nil = HostKey.
	Key func(*http.Request) string
	// Cost is what a request is charged; nil = 1. A request of cost 0 is charged nothing, but is
	// refused while no request is allowed.
	Cost func(*http.Request) int64
	// Wait is how long a request may wait for its slot, rounded up to a millisecond, at most
	// a minute; 0 = do not wait. A request that would wait longer fails at once. A rule with
	// sliding_window_counter does not support it.
	Wait time.Duration
	// Timeout is how long a call to the sidecar may take in addition to Wait; 0 =
	// DefaultTimeout.
	Timeout time.Duration
	// MaxRetryAfter is the longest Retry-After that is reported; 0 = DefaultMaxRetryAfter, at
	// most 366 days. A longer one is cut, so that one header cannot pause a host for a year.
	MaxRetryAfter time.Duration
	// FailOpen sends a request if the sidecar could not be asked. While Redis is unreachable
	// the fail_mode of the rule decides, not FailOpen.
	FailOpen bool
	// OnError is called with errors that did not fail the request: the sidecar could not be
	// asked and FailOpen is set, or a report failed. It may be called concurrently.
	OnError func(*http.Request, error)
}

// Transport is an http.RoundTripper that asks the sidecar before each request.
// It is safe for concurrent use. A redirect is a new request.
type Transport struct {
	asker
	base          http.RoundTripper
	key           func(*http.Request) string
	maxRetryAfter time.Duration
}

// NewTransport limits the requests that o.Base sends. It panics if c is nil or no rule is
// named.
func NewTransport(c *client.Client, o TransportOptions) *Transport {
	t := &Transport{
		asker: newAsker(c, "TransportOptions", o.Rule, o.RuleOf),
		base:  o.Base, key: o.Key, maxRetryAfter: min(orDefault(o.MaxRetryAfter, DefaultMaxRetryAfter), longestRetryAfter),
	}
	t.cost, t.open, t.hear = o.Cost, o.FailOpen, o.OnError
	t.wait, t.timeout = min(max(o.Wait, 0), maxWait), orDefault(o.Timeout, DefaultTimeout)
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.key == nil {
		t.key = HostKey
	}
	return t
}

// RoundTrip sends the request if the sidecar allows it. Errors: a *client.LimitError if it is
// refused; those of client.Call if the sidecar could not be asked and FailOpen is not set;
// those of the base. The request is never modified, and its body is always closed.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	rule := t.rule(r)
	if rule == "" {
		return t.base.RoundTrip(r)
	}
	d, err := t.ask(r, rule, t.key(r))
	switch {
	case err != nil && t.passes(r, err):
		t.tell(r, err)
		return t.base.RoundTrip(r) // not reported, since the sidecar could not be asked
	case err == nil && !d.Allowed:
		err = &client.LimitError{Key: d.Key, RatelimitResult: d.RatelimitResult}
	case err == nil && r.Context().Err() != nil:
		err = context.Cause(r.Context())
		t.unsent(r, d)
	}
	if err != nil {
		closeBody(r)
		return nil, err
	}
	return t.send(r, d)
}

// CloseIdleConnections closes the idle connections of the base, if the base has that method.
// http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	if b, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

// send sends an allowed request and reports the result.
func (t *Transport) send(r *http.Request, d Decision) (*http.Response, error) {
	out, connected := r, new(atomic.Bool)
	if d.Grant != "" {
		out = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
		}))
	}
	begun := time.Now()
	resp, err := t.base.RoundTrip(out)
	latency := time.Since(begun)
	if err != nil {
		// The server may have read a request that was first sent on a kept connection,
		// although the dial after that failed.
		if !connected.Load() && isDial(err) {
			t.unsent(r, d)
		} else {
			t.done(r, d)
		}
		return nil, err
	}
	if resp.Request == out {
		resp.Request = r // without the trace
	}
	ended := resp.Body == nil || resp.Body == http.NoBody
	if !t.report(r, d, resp, latency, ended) && ended {
		t.done(r, d)
	}
	if !ended && d.Held {
		resp.Body = follow(resp.Body, func() { t.done(r, d) })
	}
	return resp, nil
}

// unsent gives back a grant that was not used.
func (t *Transport) unsent(r *http.Request, d Decision) {
	t.refund(r, d)
	t.done(r, d)
}

// isDial reports whether no connection could be made.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// report reports the response of the server and, if ended is set, names the grant, which
// releases its permit. It returns whether the call succeeded.
func (t *Transport) report(r *http.Request, d Decision, resp *http.Response, latency time.Duration, ended bool) bool {
	p := api.RatelimitReportParams{
		Rule: d.Rule, Key: d.Key, Status: int64(resp.StatusCode),
		LatencyMS:    min(latency, 24*time.Hour).Milliseconds(),
		RetryAfterMS: min(retryAfter(resp.Header, time.Now()), t.maxRetryAfter).Milliseconds(),
	}
	if ended {
		p.Grant = d.Grant
	}
	ctx, cancel := t.after(r)
	defer cancel()
	_, err := t.c.RatelimitReport(ctx, p)
	t.tell(r, err)
	return err == nil
}

// closeBody closes the body of a request that is not sent: a RoundTripper must do that.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // the request fails with another error
	}
}

// body is the body of a response that calls a function at its end.
type body struct {
	io.ReadCloser
	once sync.Once
	end  func()
}

// follow calls end once, when b ends. The result has the other methods of b: after 101
// Switching Protocols a body can also be written to, and its writing side can be closed.
func follow(b io.ReadCloser, end func()) io.ReadCloser {
	f := &body{ReadCloser: b, end: end}
	w, writes := b.(io.Writer)
	half, halves := b.(halfCloser)
	switch {
	case writes && halves:
		return struct {
			*body
			io.Writer
			halfCloser
		}{f, w, half}
	case writes:
		return struct {
			*body
			io.Writer
		}{f, w}
	default:
		return f
	}
}

// halfCloser can close its writing side while its reading side stays open.
type halfCloser interface{ CloseWrite() error }

// Read calls end at the end of the body, because many callers read to the end and close
// late.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.end)
	}
	return n, err
}

// Close closes the body, and calls end if Read has not.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.end)
	return err
}
