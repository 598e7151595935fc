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

// DefaultMaxRetryAfter is the longest Retry-After that is believed unless the
// options say otherwise: as long as the longest penalty that a rule has by default.
const DefaultMaxRetryAfter = 24 * time.Hour

// longestRetryAfter is what a report may say at most.
const longestRetryAfter = 366 * 24 * time.Hour

// TransportOptions say how requests are limited. Rule or RuleOf is required.
type TransportOptions struct {
	// Base carries the requests that may go; nil = http.DefaultTransport.
	Base http.RoundTripper
	// Rule is the rule of every request.
	Rule string
	// RuleOf chooses the rule of each request, in place of Rule. A request for
	// which it is empty goes unlimited and unreported.
	RuleOf func(*http.Request) string
	// Key says what a request counts against; nil = HostKey.
	Key func(*http.Request) string
	// Cost says how much a request takes; nil = 1. One of cost 0 takes nothing, but
	// is refused when nothing may go.
	Cost func(*http.Request) int64
	// Wait is how long a request may wait for its slot, rounded up to a millisecond,
	// at most a minute: one that would have to wait longer fails at once. 0 = none
	// waits. Not with a rule whose algorithm is sliding_window_counter.
	Wait time.Duration
	// Timeout is how long a call to the sidecar may take, beside Wait; 0 = DefaultTimeout.
	Timeout time.Duration
	// MaxRetryAfter is the longest Retry-After that is reported, longer ones are cut:
	// else one header could stop a host for a year. 0 = DefaultMaxRetryAfter; at most
	// 366 days.
	MaxRetryAfter time.Duration
	// FailOpen lets a request go when the sidecar could not be asked. What happens
	// when Redis is away is the rule's fail_mode, whatever is said here.
	FailOpen bool
	// OnError hears of errors that did not fail the request: one that FailOpen let
	// go, and reports that did not get through. It may be called concurrently.
	OnError func(*http.Request, error)
}

// Transport is an http.RoundTripper that asks the sidecar before each request.
// It is safe for concurrent use. Redirects are requests of their own.
type Transport struct {
	asker
	base          http.RoundTripper
	key           func(*http.Request) string
	maxRetryAfter time.Duration
}

// NewTransport limits what o.Base carries. It panics when c is nil or when no
// rule is named.
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

// RoundTrip sends the request when the sidecar lets it go. Errors: a *LimitError
// when it is refused; those of client.Call, when the sidecar could not be asked
// and FailOpen is not set; those of the base. The request is never modified, and
// its body always closed.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	rule := t.rule(r)
	if rule == "" {
		return t.base.RoundTrip(r)
	}
	d, err := t.ask(r, rule, t.key(r))
	switch {
	case err != nil && t.passes(r, err):
		t.tell(r, err)
		return t.base.RoundTrip(r) // nothing to report to
	case err == nil && !d.Allowed:
		err = &LimitError{d}
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

// CloseIdleConnections closes those of the base, if it can. http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	if b, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

// send carries a request that may go, and tells how that went.
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
		// A request that was tried on a kept connection first may have been read by the
		// server, though the dial that followed failed.
		if !connected.Load() && isDial(err) {
			t.unsent(r, d)
		} else {
			t.done(r, d)
		}
		return nil, err
	}
	if resp.Request == out {
		resp.Request = r // as it was given
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

// unsent undoes a grant that was not used.
func (t *Transport) unsent(r *http.Request, d Decision) {
	t.refund(r, d)
	t.done(r, d)
}

// isDial reports whether the error says that no connection could be made.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// report tells how the server answered; with ended, that the grant is done. It
// says whether that got through.
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

// closeBody does what the contract of RoundTripper asks of failures too.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // the request failed for another reason
	}
}

// body is a response's body that knows its end.
type body struct {
	io.ReadCloser
	once sync.Once
	end  func()
}

// follow calls end once, when b ends. What b can do beside reading, it still can:
// after 101 Switching Protocols a body takes writes too, and their end.
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

// halfCloser can end its writing side, and its reading side stays open.
type halfCloser interface{ CloseWrite() error }

// Read ends the body with its last byte, since many read to the end and close
// late.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.end)
	}
	return n, err
}

// Close ends the body.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.end)
	return err
}
