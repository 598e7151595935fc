package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// inLine is how long a worker waits in line for an identity before it asks again.
const inLine = 2 * time.Second

// refusal is the site's answer when it refuses an identity.
type refusal struct {
	status     int
	retryAfter time.Duration // 0 = the answer has none
}

func (e *refusal) Error() string { return fmt.Sprintf("the site answered %d", e.status) }

// outcomeOf returns the outcome of a visit, for the identity's breaker, cooldown and pause.
func outcomeOf(err error) client.Outcome {
	var r *refusal
	switch {
	case !errors.As(err, &r):
		return client.Outcome{} // the default: ok, or a failure
	case r.status == http.StatusTooManyRequests:
		return client.Outcome{Kind: api.OutcomeSoftBlock, Status: r.status, RetryAfter: r.retryAfter}
	default:
		return client.Outcome{Kind: api.OutcomeHardBlock, Status: r.status}
	}
}

// visit makes one request with the identity whose turn it is.
func (w *crew) visit(ctx context.Context, shop string) error {
	o := client.PermitOptions{Rule: name, Breaker: name}
	o.Scope, o.Wait, o.OutcomeOf = shop, inLine, outcomeOf
	err := w.c.PermitDo(ctx, w.pool, o, func(_ context.Context, p *client.Permit) error {
		// Not the crawl's own context: a request that is under way at the end is
		// finished. Otherwise the site would still be processing it when another
		// worker gets the identity.
		return w.fetch(p.Context(), shop, p.ID())
	})
	var busy *client.BusyError
	var failed *api.Error
	switch {
	case errors.As(err, &busy):
		w.refused(busy.Reason)
		sleep(ctx, busy.RetryAfter)
	case errors.Is(err, client.ErrLost):
		w.lost()
	case errors.As(err, &failed) && ctx.Err() == nil:
		if failed.Code.CallerFault() {
			return err
		}
		w.refused(string(failed.Code))
		sleep(ctx, time.Second)
	}
	return nil // a refusal by the site has been reported as the identity's outcome
}

// sleep sleeps for d, but for a second at most, since another identity may be free
// by then. It returns earlier when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d < 0 || d > time.Second {
		d = time.Second
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// fetch makes the request.
func (w *crew) fetch(ctx context.Context, shop, identity string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.site+"/"+shop, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", identity)
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	s, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if there is none
	return &refusal{resp.StatusCode, time.Duration(s) * time.Second}
}
