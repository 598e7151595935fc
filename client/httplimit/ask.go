package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// DefaultTimeout is how long a call to the sidecar may take by default. It is shorter than
// the timeout of the client, because a request waits for the call.
const DefaultTimeout = time.Second

// maxWait is the longest wait_ms.
const maxWait = time.Minute

// Decision is the decision of the sidecar about one request.
type Decision struct {
	// Key is the key under which the request was counted.
	Key string
	api.RatelimitResult
}

// asker calls the sidecar for the requests of a Transport or a Handler.
type asker struct {
	c       *client.Client
	rule    func(*http.Request) string
	cost    func(*http.Request) int64 // nil = 1
	wait    time.Duration
	timeout time.Duration
	open    bool
	hear    func(*http.Request, error)
}

// newAsker checks the options that a Transport and a Handler share. It panics if one is
// missing.
func newAsker(c *client.Client, options, rule string, ruleOf func(*http.Request) string) asker {
	switch {
	case c == nil:
		panic("httplimit: the client is nil; give the one of client.Dial")
	case rule == "" && ruleOf == nil:
		panic("httplimit: " + options + " name no rule; set Rule or RuleOf")
	case ruleOf == nil:
		ruleOf = func(*http.Request) string { return rule }
	}
	return asker{c: c, rule: ruleOf}
}

// ask asks the sidecar to charge the cost of the request to the limit.
func (a *asker) ask(r *http.Request, rule, key string) (Decision, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.timeout+a.wait)
	defer cancel()
	p := api.RatelimitParams{Rule: rule, Key: key, Cost: 1, WaitMS: api.Millis(a.wait)}
	if a.cost != nil {
		p.Cost = a.cost(r)
	}
	var res api.RatelimitResult
	var err error
	if p.Cost != 0 {
		res, err = a.c.RatelimitAcquire(ctx, p)
	} else {
		// The encoded struct would omit a cost of 0, and the sidecar would charge 1.
		err = a.c.CallRaw(ctx, api.RatelimitAcquire.Name, map[string]any{
			"rule": rule, "key": key, "cost": 0, api.ParamWaitMS: p.WaitMS,
		}, &res)
	}
	if err != nil {
		return Decision{}, fmt.Errorf("httplimit: %w", err)
	}
	return Decision{Key: key, RatelimitResult: res}, nil
}

// passes reports whether a request is sent or served although the sidecar could not be asked.
func (a *asker) passes(r *http.Request, err error) bool {
	if !a.open || r.Context().Err() != nil {
		return false
	}
	var answer *api.Error
	if !errors.As(err, &answer) {
		return true
	}
	// FailOpen does not apply to UNAVAILABLE, which is the decision of a rule whose fail_mode
	// is closed, nor to mistakes of the program, for example an unknown rule.
	switch answer.Code {
	case api.DeadlineExceeded, api.Draining, api.Internal, api.Overloaded:
		return true
	default:
		return false
	}
}

// done releases the permit of a grant under max_concurrent.
func (a *asker) done(r *http.Request, d Decision) {
	if !d.Held {
		return
	}
	ctx, cancel := a.after(r)
	defer cancel()
	_, err := client.Call(ctx, a.c, api.RatelimitDone, api.RatelimitGrantParams{Grant: d.Grant})
	a.tell(r, err)
}

// refund gives back the cost of a request that was never sent.
func (a *asker) refund(r *http.Request, d Decision) {
	if d.Grant == "" {
		return
	}
	ctx, cancel := a.after(r)
	defer cancel()
	_, err := client.Call(ctx, a.c, api.RatelimitRefund, api.RatelimitGrantParams{Grant: d.Grant})
	a.tell(r, err)
}

// after returns the context for the calls after a request. It does not end with the context
// of the request, because other requests depend on these calls.
func (a *asker) after(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), a.timeout)
}

// tell passes an error that did not fail the request to OnError.
func (a *asker) tell(r *http.Request, err error) {
	if err != nil && a.hear != nil {
		a.hear(r, fmt.Errorf("httplimit: %w", err))
	}
}

// orDefault returns the duration of an option, or its default.
func orDefault(d, byDefault time.Duration) time.Duration {
	if d <= 0 {
		return byDefault
	}
	return d
}
