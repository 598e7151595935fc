package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// releaseTime bounds a release whose context has ended already.
const releaseTime = 2 * time.Second

// held is one lease of this client: the common part of locks, semaphores and all others.
type held struct {
	c    *Client
	kind *heldKind
	terms
	token string
	// itself is returned as the Lock or the Semaphore, which then needs no allocation of its own.
	itself struct{ *held }

	// Set by the grant.
	fence uint64
	ttl   time.Duration
	ends  time.Time       // when the longest hold ends; zero = never
	asked context.Context // of the acquisition

	alarm // runs check

	mu        sync.Mutex // guards what follows
	on        *conn      // the session that holds it
	confirmed time.Time  // the latest time at which it was certainly held
	granted   bool
	loss      error
	released  bool
	why       error           // why Context ended; nil = it has not
	ctx       context.Context // nil until Context is first called, which most holders never do
	end       context.CancelCauseFunc
}

// heldAnswer is the result of a renewal or a release, for all nouns.
type heldAnswer struct {
	Renewed   bool   `codec:"renewed"`
	Released  bool   `codec:"released"`
	Acked     bool   `codec:"acked"`
	Committed bool   `codec:"committed"`
	Reason    string `codec:"reason"`
}

// params returns the parameters that identify the lease, and the pairs of more.
func (h *held) params(more map[string]any) any {
	if len(more) == 0 {
		return h // newCall encodes it without a map
	}
	p := map[string]any{h.kind.name: h.name, h.kind.token: h.token}
	if h.kind.key != "" {
		p[h.kind.key] = h.key
	}
	maps.Copy(p, more)
	return p
}

// append encodes the parameters that identify the lease.
func (h *held) append(b []byte) (to []byte, pairs int) {
	b = appendText(appendText(b, h.kind.name), h.name)
	b = appendText(appendText(b, h.kind.token), h.token)
	if h.kind.key == "" {
		return b, 2
	}
	return appendText(appendText(b, h.kind.key), h.key), 3
}

// renewal is a lease as the parameters of its renewal.
type renewal held

func (r *renewal) append(b []byte) (to []byte, pairs int) {
	b, pairs = (*held)(r).append(b)
	return appendUint(appendText(b, r.kind.ttl), uint64(r.ttl.Milliseconds())), pairs + 1
}

// errorf prefixes an error with the lease and the step that failed.
func (h *held) errorf(step string, err error) error {
	return fmt.Errorf("%s %s: %s: %w", h.kind.noun, h.name, step, err)
}

// Name returns the name that was acquired.
func (h *held) Name() string { return h.name }

// Token returns the owner's secret, with which another client can renew and release the lease.
func (h *held) Token() string { return h.token }

// Fence returns a number that rises with every grant, also across failovers and loss of data in Redis.
func (h *held) Fence() uint64 { return h.fence }

// Context returns a context that ends when the lease ends. Its cause is then ErrReleased, or
// an error that is ErrLost and contains the reason. It has the values of the context of the
// acquisition, but does not end with that one.
func (h *held) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		h.ctx, h.end = context.WithCancelCause(context.WithoutCancel(h.asked))
		if h.why != nil {
			h.end(h.why)
		}
	}
	return h.ctx
}

// finish ends Context, with h.mu held.
func (h *held) finish(why error) {
	h.c.alarms.stop(h)
	if h.why == nil {
		h.why = why
	}
	if h.end != nil {
		h.end(why)
	}
}

// Renew renews the lease for its TTL. Only a lease that is bound to its TTL needs it. If the
// lease is no longer held, the error is ErrLost. After any other error it is held until its
// TTL ends.
func (h *held) Renew(ctx context.Context) error {
	h.mu.Lock()
	on, loss, released := h.on, h.loss, h.released
	h.mu.Unlock()
	switch {
	case released:
		return h.errorf("renew", ErrReleased)
	case loss != nil:
		return h.errorf("renew", loss)
	case h.kind.renew == "":
		return h.errorf("renew", errors.New("this kind of lease cannot be renewed: bind it to the session, or give it a longer TTL"))
	case !h.session:
		on = nil
	}
	sent := time.Now()
	var r heldAnswer
	err := h.c.invoke(ctx, invocation{
		method: h.kind.renew, idempotent: true, result: &r, on: on,
		params: (*renewal)(h),
	})
	if err != nil {
		return err
	}
	if !r.Renewed {
		return h.errorf("renew", h.lose(r.Reason))
	}
	h.confirm(sent)
	return nil
}

// Release ends the lease and its Context. It also works with a context that has ended, for
// example in a defer. It returns an error that is ErrLost if the lease was not held to the
// end. After any other error it may be called again; the lease ends with its session or
// its TTL at the latest. After a successful release further calls do nothing.
func (h *held) Release(ctx context.Context) error { return h.endBy(ctx, h.kind.release, nil) }

// endBy ends the lease by one of its methods, with more parameters.
func (h *held) endBy(ctx context.Context, method string, more map[string]any) error {
	h.mu.Lock()
	if h.released {
		h.mu.Unlock()
		return nil
	}
	on, loss := h.on, h.loss
	h.finish(ErrReleased)
	h.mu.Unlock()

	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
	}
	// The release goes to the session that holds the lease: that session would otherwise
	// report it as lost. If the session has ended, any session can release it by the token.
	// That frees at once a lease that a killed sidecar left behind.
	if !h.session || loss != nil {
		on = nil
	}
	var r heldAnswer
	err := h.c.invoke(ctx, invocation{method: method, idempotent: true, params: h.params(more), result: &r, on: on})
	if err != nil {
		return err
	}
	h.forget()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	if h.loss != nil {
		return h.errorf("release", h.loss)
	}
	if !r.Released && !r.Acked && !r.Committed {
		return h.errorf("release", lost(r.Reason))
	}
	return nil
}

// take starts the lease after its grant.
func (h *held) take(ctx context.Context, d decision) error {
	fence, err := strconv.ParseUint(d.fence, 10, 64)
	if err != nil && !h.kind.unfenced {
		return fmt.Errorf("fence: %w", err)
	}
	h.fence, h.ttl = fence, time.Duration(d.ttlMS)*time.Millisecond
	h.asked = ctx
	h.mu.Lock()
	defer h.mu.Unlock()
	h.granted = true
	// The sidecar waited for this long before it asked Redis for the grant.
	h.confirmed = h.confirmed.Add(time.Duration(d.waitedMS) * time.Millisecond)
	if h.maxHold > 0 {
		h.ends = h.confirmed.Add(validity(h.maxHold))
	}
	if h.loss != nil { // lost between the reply and now
		h.finish(h.loss)
		return nil
	}
	h.arm()
	return nil
}

// bind notes the connection and the time at which the acquisition is sent. The validity of
// the grant counts from there.
func (h *held) bind(cn *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on, h.confirmed, h.loss = cn, time.Now(), nil
}

// arm sets the time of the next check, with h.mu held.
//
// A lease that is bound to its TTL ends with its validity, or with its longest hold. A
// lease that is bound to the session is renewed by the sidecar, which reports a loss in
// time as long as it runs. So the client pings the sidecar every third of the TTL.
func (h *held) arm() {
	next := h.confirmed.Add(h.ttl / 3)
	if !h.session {
		next = h.confirmed.Add(validity(h.ttl))
		if !h.ends.IsZero() && h.ends.Before(next) {
			next = h.ends
		}
	}
	h.c.alarms.set(h, next.Sub(h.c.epoch))
}

// check runs when the lease's alarm goes off.
func (h *held) check() {
	if !h.session {
		_ = h.lose(h.over())
		return
	}
	h.mu.Lock()
	on := h.on
	// The last certain renewal may be a third of the TTL older than the answer of the
	// sidecar at h.confirmed.
	until := h.confirmed.Add(validity(h.ttl) - h.ttl/3)
	h.mu.Unlock()
	asked := time.Now()
	if !asked.Before(until) {
		// This process did not run for a while; it may have been stopped by a signal. The
		// sidecar has renewed the lease meanwhile, or reports the loss before it answers.
		until = asked.Add(h.ttl / 3)
	}
	held := h.Context()
	ctx, cancel := context.WithDeadline(held, until)
	defer cancel()
	// The program did not make this call, so it gets no span.
	cl, err := h.c.newCall(api.SessionPing.Name, nil)
	if err == nil {
		cl.deadline = until.Sub(h.c.epoch)
		err = on.roundTrip(ctx, cl, asked.Sub(h.c.epoch))
		h.c.free(cl)
	}
	if held.Err() != nil {
		return
	}
	if err != nil {
		_ = h.lose("the sidecar does not answer")
		return
	}
	h.confirm(asked)
}

// confirm notes that the lease was held at a time, and sets the next check.
func (h *held) confirm(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loss == nil && h.why == nil {
		h.confirmed = at
		h.arm()
	}
}

// over returns the reason why a lease that is bound to its TTL has ended.
func (h *held) over() string {
	if !h.ends.IsZero() && !time.Now().Before(h.ends) {
		return "max_hold"
	}
	return "its TTL ran out"
}

// validity returns for how long a grant can be relied on after it was asked for: its TTL, less 1 %
// for clocks that run at different speeds and 2 ms for rounding.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// lose ends the lease as lost, and returns the first reason for its loss.
func (h *held) lose(reason string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loss == nil {
		h.loss = lost(reason)
	}
	if h.granted {
		h.finish(h.loss)
	}
	return h.loss
}

func lost(reason string) error { return fmt.Errorf("%w: %s", ErrLost, reason) }

// disown gives back a grant that may exist although its call failed. Only this call knows the
// token, so no other lease can be affected.
func (h *held) disown(err error) {
	h.forget()
	if h.token == "" {
		return // only the sidecar knows the token, and gives the grant back itself
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

// forget removes the lease from its connection.
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
