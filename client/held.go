package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// releaseTime is what a release gets whose context has ended already.
const releaseTime = 2 * time.Second

// heldKind is what one noun's leases have of their own.
type heldKind struct {
	noun                    string // for errors
	acquire, renew, release string // its methods
	name, token, ttl        string // the keys of their parameters
	// named: its token is the sidecar's to make, and comes with the grant.
	named bool
	// unfenced: its grants have no fence.
	unfenced bool
	// key is the key of a second part of its name; empty = it has none.
	key string
	// unused is the outcome of what was granted and not used; empty = it has none.
	unused string
}

// held is something that this client holds: what locks, permits of semaphores
// and all other leases have in common.
type held struct {
	c           *Client
	kind        *heldKind
	name, token string
	key         string        // see heldKind.key
	session     bool          // bound to the session, not to its TTL
	maxHold     time.Duration // 0 = it may be held for good

	// Set by the grant.
	fence uint64
	ttl   time.Duration
	ends  time.Time // when it was held as long as it may be, zero = never
	ctx   context.Context
	end   context.CancelCauseFunc

	mu        sync.Mutex // guards what follows
	on        *conn      // the session that holds it
	confirmed time.Time  // it was held for all that is known at this time
	loss      error
	timer     *time.Timer // nil until it is granted
	released  bool
}

// grant is what all answers to an acquisition have.
type grant struct {
	fence    string
	ttlMS    int64
	waitedMS int64
}

// heldAnswer is what all answers about a lease have.
type heldAnswer struct {
	Renewed  bool `codec:"renewed"`
	Released bool `codec:"released"`
	// Acked and Committed are Released of what was dealt with.
	Acked     bool   `codec:"acked"`
	Committed bool   `codec:"committed"`
	Reason    string `codec:"reason"`
}

func (a *heldAnswer) ended() bool { return a.Released || a.Acked || a.Committed }

// params are those that name the lease, and more.
func (h *held) params(more map[string]any) map[string]any {
	p := map[string]any{h.kind.name: h.name, h.kind.token: h.token}
	if h.kind.key != "" {
		p[h.kind.key] = h.key
	}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// Name is the name of what is held.
func (h *held) Name() string { return h.name }

// Token is the owner's secret, with which another client may renew and release it.
func (h *held) Token() string { return h.token }

// Fence rises with every grant, through failovers and data loss too.
func (h *held) Fence() uint64 { return h.fence }

// Context ends when it is no longer held; its cause is then ErrReleased, or an
// error that is ErrLost and says why. It has the values of the context that it
// was acquired with, but not its end.
func (h *held) Context() context.Context { return h.ctx }

// Renew extends it by its TTL. Only what is bound to its TTL needs that. When it
// is not held any more it is lost, and the error is ErrLost; after any other
// error it is held until its TTL ends.
func (h *held) Renew(ctx context.Context) error {
	h.mu.Lock()
	on, loss, released := h.on, h.loss, h.released
	h.mu.Unlock()
	switch {
	case released:
		return fmt.Errorf("%s %s: renew: %w", h.kind.noun, h.name, ErrReleased)
	case loss != nil:
		return fmt.Errorf("%s %s: renew: %w", h.kind.noun, h.name, loss)
	case h.kind.renew == "":
		return fmt.Errorf("%s %s: renew: there is no such call; bind it to the session, or give it a longer TTL", h.kind.noun, h.name)
	case !h.session:
		on = nil
	}
	sent := time.Now()
	var r heldAnswer
	err := h.c.invoke(ctx, invocation{
		method: h.kind.renew, idempotent: true, result: &r, on: on,
		params: h.params(map[string]any{h.kind.ttl: h.ttl.Milliseconds()}),
	})
	if err != nil {
		return err
	}
	if !r.Renewed {
		return fmt.Errorf("%s %s: renew: %w", h.kind.noun, h.name, h.lose(r.Reason))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loss == nil && !h.released {
		h.confirmed = sent
		h.arm()
	}
	return nil
}

// Release gives it back and ends its Context. It works on a context that has
// ended too, as in a defer. It returns an error that is ErrLost when it was not
// held to the end; after any other error it may be called again, and it is free
// when its session or its TTL ends at the latest. Once released, further calls
// do nothing.
func (h *held) Release(ctx context.Context) error {
	var r heldAnswer
	return h.giveBack(ctx, nil, &r, &r)
}

// giveBack is Release with more parameters, and decodes the answer into result
// too, of which answer is a part.
func (h *held) giveBack(ctx context.Context, more map[string]any, result any, answer *heldAnswer) error {
	return h.endBy(ctx, h.kind.release, more, result, answer)
}

// endBy is giveBack by another method than its release.
func (h *held) endBy(ctx context.Context, method string, more map[string]any, result any, answer *heldAnswer) error {
	h.mu.Lock()
	if h.released {
		h.mu.Unlock()
		return nil
	}
	h.timer.Stop()
	on, loss := h.on, h.loss
	h.mu.Unlock()
	h.end(ErrReleased)

	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	// The session that holds it must let go of it too, or it would take the
	// release for a loss. Where that session has ended the token is enough, and
	// frees at once what a killed sidecar left behind.
	if !h.session || loss != nil {
		on = nil
	}
	err := h.c.invoke(ctx, invocation{
		method: method, idempotent: true, params: h.params(more), result: result, on: on,
	})
	if err != nil {
		return err
	}
	h.forget()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	if h.loss != nil {
		return fmt.Errorf("%s %s: release: %w", h.kind.noun, h.name, h.loss)
	}
	if !answer.ended() {
		return fmt.Errorf("%s %s: release: %w", h.kind.noun, h.name, lost(answer.Reason))
	}
	return nil
}

// take makes what was acquired a held one.
func (h *held) take(ctx context.Context, g grant) error {
	fence, err := strconv.ParseUint(g.fence, 10, 64)
	if err != nil && !h.kind.unfenced {
		err = fmt.Errorf("%s: %w: fence: %w", h.kind.acquire, errMalformed, err)
		h.disown(&brokenError{err, true})
		return err
	}
	h.fence, h.ttl = fence, time.Duration(g.ttlMS)*time.Millisecond
	h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.ttl, h.check)
	// What granted it was not sent before that, by the sidecar's own count.
	h.confirmed = h.confirmed.Add(time.Duration(g.waitedMS) * time.Millisecond)
	if h.maxHold > 0 {
		h.ends = h.confirmed.Add(validity(h.maxHold))
	}
	h.arm()
	if h.loss != nil { // between the reply and now
		h.timer.Stop()
		h.end(h.loss)
	}
	return nil
}

// bind notes which connection the acquisition is sent on, and when. Its validity
// counts from here.
func (h *held) bind(cn *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on, h.confirmed, h.loss = cn, time.Now(), nil
}

// arm sets the time of the next check, with h.mu held.
//
// What is bound to its TTL ends with its validity, or when it was held as long as
// it may be. What is bound to the session is renewed by the sidecar, which tells
// of a loss in time as long as it lives: so the sidecar itself is asked every
// third of the TTL.
func (h *held) arm() {
	next := h.confirmed.Add(h.ttl / 3)
	if !h.session {
		next = h.confirmed.Add(validity(h.ttl))
		if !h.ends.IsZero() && h.ends.Before(next) {
			next = h.ends
		}
	}
	h.timer.Reset(time.Until(next))
}

// check runs when the timer does.
func (h *held) check() {
	if !h.session {
		_ = h.lose(h.over())
		return
	}
	h.mu.Lock()
	on := h.on
	// The renewal that is known to have been made may be a third of the TTL older
	// than the answer that vouches for it.
	until := h.confirmed.Add(validity(h.ttl) - h.ttl/3)
	h.mu.Unlock()
	asked := time.Now()
	if !asked.Before(until) {
		// This process did not run for a while, since it was stopped by a signal, say. The
		// sidecar has renewed it all the same, or tells of the loss before it answers.
		until = asked.Add(h.ttl / 3)
	}
	ctx, cancel := context.WithDeadline(h.ctx, until)
	defer cancel()
	// Not a call of the program's own: it has no span.
	cl, err := h.c.newCall(api.SessionPing.Name, nil)
	if err == nil {
		err = on.roundTrip(ctx, cl, time.Until(until), nil)
		h.c.free(cl)
	}
	if h.ctx.Err() != nil {
		return
	}
	if err != nil {
		_ = h.lose("the sidecar does not answer")
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loss == nil && !h.released {
		h.confirmed = asked
		h.arm()
	}
}

// over is why what is bound to its TTL has ended.
func (h *held) over() string {
	if !h.ends.IsZero() && !time.Now().Before(h.ends) {
		return "max_hold"
	}
	return "its TTL ran out"
}

// validity is how long a grant can be relied on from when it was asked for: its
// TTL less 1 % for clocks that differ in speed and 2 ms for what they round.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// lose ends it. It returns the first reason.
func (h *held) lose(reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loss == nil {
		h.loss = lost(reason)
	}
	if h.timer != nil {
		h.timer.Stop()
		h.end(h.loss)
	}
	return h.loss
}

func lost(reason string) error { return fmt.Errorf("%w: %s", ErrLost, reason) }

// disown gives back what may have been granted although the call failed. The
// token is known to this call alone, so nothing else can be hit.
func (h *held) disown(err error) {
	h.forget()
	if h.token == "" {
		return // nobody knows it but the sidecar, which gives it back
	}
	var reply *api.Error
	var broken *brokenError
	if errors.As(err, &reply) {
		switch reply.Code {
		case api.DeadlineExceeded, api.Cancelled, api.Internal:
		default:
			if !reply.MaybeExecuted() {
				return
			}
		}
	} else if !errors.As(err, &broken) {
		return
	}
	if cn := h.c.live(); cn != nil {
		cn.notify(h.releaseFrame(h.token))
	}
}

// forget takes it off its connection.
func (h *held) forget() {
	h.mu.Lock()
	on := h.on
	h.mu.Unlock()
	if on != nil {
		on.mu.Lock()
		delete(on.held, h.token)
		on.mu.Unlock()
	}
}
