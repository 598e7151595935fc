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

// inLine is how long a worker waits for an identity before it asks again.
const inLine = 2 * time.Second

// refusal is what the site says to an identity that it does not want.
type refusal struct {
	status     int
	retryAfter time.Duration // 0 = it did not say
}

func (e *refusal) Error() string { return fmt.Sprintf("the site answered %d", e.status) }

// outcomeOf is how a visit went, for the identity's breaker, cooldown and pause.
func outcomeOf(err error) client.Outcome {
	var said *refusal
	switch {
	case !errors.As(err, &said):
		return client.Outcome{} // as it is by default: ok, or a failure
	case said.status == http.StatusTooManyRequests:
		return client.Outcome{Kind: api.OutcomeSoftBlock, Status: said.status, RetryAfter: said.retryAfter}
	default:
		return client.Outcome{Kind: api.OutcomeHardBlock, Status: said.status}
	}
}

// visit makes one request as whoever's turn it is.
func (w *crew) visit(ctx context.Context, shop string) error {
	o := client.PermitOptions{Rule: name, Breaker: name}
	o.Scope, o.Wait, o.OutcomeOf = shop, inLine, outcomeOf
	err := w.c.PermitDo(ctx, w.pool, o, func(_ context.Context, p *client.Permit) error {
		// Not the crawl's own context: a request that is under way at the end is
		// finished, or the site would still be busy with it when the identity is
		// someone else's.
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
	return nil // what the site said is the identity's affair
}

// sleep returns before when ctx ends, and after a second at the latest: by then
// another identity may have become free.
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
	s, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 where it has none
	return &refusal{resp.StatusCode, time.Duration(s) * time.Second}
}
