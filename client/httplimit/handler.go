package httplimit

import (
	"context"
	"net/http"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// HandlerOptions configure how the requests that are served are limited. Rule or RuleOf is
// required.
type HandlerOptions struct {
	// Rule is the rule of every request.
	Rule string
	// RuleOf selects the rule of each request, instead of Rule. If it returns an empty name,
	// the request is not limited.
	RuleOf func(*http.Request) string
	// Key identifies the caller; nil = Callers{}.Key. Behind proxies use the Key of Callers
	// that names the proxies. The response to an error or an empty key is 400 with the text
	// of the error.
	Key func(*http.Request) (string, error)
	// Cost is what a request is charged; nil = 1. A request of cost 0 is charged nothing, but is
	// refused while no request is allowed.
	Cost func(*http.Request) int64
	// Wait is how long a request may wait for its slot, rounded up to a millisecond, at most
	// a minute; 0 = do not wait. A rule with sliding_window_counter does not support it.
	Wait time.Duration
	// Timeout is how long a call to the sidecar may take in addition to Wait; 0 =
	// DefaultTimeout.
	Timeout time.Duration
	// FailOpen serves a request if the sidecar could not be asked. Without it the response is
	// 503 if a further attempt may succeed, and 500 otherwise. While Redis is unreachable
	// the fail_mode of the rule decides, not FailOpen.
	FailOpen bool
	// OnError is called if the sidecar could not be asked, or if the permit of a request
	// could not be released. Clients do not see these errors. It may be called concurrently.
	OnError func(*http.Request, error)
}

// Handler returns a middleware that limits the requests to a handler. It panics if c is nil
// or no rule is named. The next handler gets the original writer, so it can flush and
// hijack.
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

// FromContext returns the decision that allowed a request, for the handlers behind Handler;
// false = the request was not limited.
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
	defer h.done(r, d) // deferred, so that it also runs if the next handler panics
	next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), decisionKey{}, d)))
}
