package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// HandlerOptions say how requests that are served are limited. Rule or RuleOf is
// required.
type HandlerOptions struct {
	// Rule is the rule of every request.
	Rule string
	// RuleOf chooses the rule of each request, in place of Rule. A request for
	// which it is empty is served unlimited.
	RuleOf func(*http.Request) string
	// Key says who is calling; nil = Callers{}.Key. Behind proxies it is the Key of
	// Callers that names them. An error, or an empty key, is answered with 400 and
	// the error's text.
	Key func(*http.Request) (string, error)
	// Cost says how much a request takes; nil = 1. One of cost 0 takes nothing, but
	// is refused when nothing may go.
	Cost func(*http.Request) int64
	// Wait is how long a request may wait for its slot, rounded up to a millisecond,
	// at most a minute; 0 = none waits. Not with a rule whose algorithm is
	// sliding_window_counter.
	Wait time.Duration
	// Timeout is how long a call to the sidecar may take, beside Wait; 0 = DefaultTimeout.
	Timeout time.Duration
	// FailOpen serves a request when the sidecar could not be asked; else the answer
	// is 503 where asking again may help, and 500 otherwise. What happens when Redis is away is the rule's fail_mode, whatever is
	// said here.
	FailOpen bool
	// OnError hears why the sidecar could not be asked, or told that a request has
	// ended: clients learn nothing of it. It may be called concurrently.
	OnError func(*http.Request, error)
}

// Handler limits what reaches the handlers that it is put before. It panics when
// c is nil or when no rule is named. The writer reaches the next handler as it is,
// so that it can still flush and hijack.
func Handler(c *client.Client, o HandlerOptions) func(http.Handler) http.Handler {
	h := handler{asker: newAsker(c, "HandlerOptions", o.Rule, o.RuleOf), key: o.Key}
	h.cost, h.open, h.hear = o.Cost, o.FailOpen, o.OnError
	h.wait, h.timeout = min(max(o.Wait, 0), maxWait), orDefault(o.Timeout, DefaultTimeout)
	if h.key == nil {
		h.key = Callers{}.Key
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, next) })
	}
}

// FromContext is the decision that let a request through, for the handlers behind
// Handler; false when it was not limited.
func FromContext(ctx context.Context) (Decision, bool) {
	d, ok := ctx.Value(decisionKey{}).(Decision)
	return d, ok
}

type decisionKey struct{}

type handler struct {
	asker
	key func(*http.Request) (string, error)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	rule := h.rule(r)
	if rule == "" {
		next.ServeHTTP(w, r)
		return
	}
	key, err := h.key(r)
	switch {
	case err != nil:
		plainProblem(http.StatusBadRequest, err.Error()).write(w)
		return
	case key == "":
		plainProblem(http.StatusBadRequest, "nothing says who is calling").write(w)
		return
	}
	d, err := h.ask(r, rule, key)
	if err != nil {
		h.tell(r, err)
		if h.passes(r, err) {
			next.ServeHTTP(w, r)
			return
		}
		plainProblem(faultStatus(err), masked).write(w)
		return
	}
	setFields(w.Header(), d)
	if !d.Allowed {
		refusal(d).write(w)
		return
	}
	defer h.done(r, d) // after a panic of the next handler too
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), decisionKey{}, d)))
}
