package client

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// SeenOptions set how to reserve a key whose work is to be done once. With the zero
// SeenOptions the reservation lasts for as long as this client is connected and is renewed
// for 30 s each time, and a commit is remembered for a day.
type SeenOptions struct {
	// TTL is how long the reservation outlives its last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession or api.BindTTL. With api.BindSession, the default, the
	// sidecar renews the reservation while the connection is open, and releases it when the
	// connection closes. With api.BindTTL it does neither.
	Bind string
	// Keep is how long a commit is remembered; 0 = a day, at most 366 days.
	Keep time.Duration
}

// Reservation is a key whose work this client has to do. Watch its Context: it ends when
// the reservation is lost, and another client may do the work then.
type Reservation struct {
	*held
	keep time.Duration
}

// Key returns the reserved key; Name returns its set.
func (r *Reservation) Key() string { return r.key }

// Commit records that the work is done. For its errors, and for a context that has ended,
// see Lock.Release; after an error that is ErrLost another client may do the same work.
// Release gives the reservation up without a record.
func (r *Reservation) Commit(ctx context.Context) error {
	var more map[string]any
	if r.keep > 0 {
		more = map[string]any{"keep_ms": api.Millis(r.keep)}
	}
	return r.endBy(ctx, api.SeenCommit.Name, more)
}

var seen = noun[api.SeenReserveParams, api.SeenReserveResult]{
	heldKind: heldKind{
		noun: "seen", release: api.SeenRelease.Name, name: "set", key: "key", token: "token", named: true, unfenced: true,
	},
	acquire: api.SeenReserve,
	decide: func(p *api.SeenReserveParams, r *api.SeenReserveResult) decision {
		return decision{granted: r.Reserved, replayed: r.Replayed, ttlMS: p.TTLMS}
	},
}

// SeenReserve reserves a key of a set. state is the state of the key before the call: new, reserved
// by another client, or done. The reservation is nil unless the state is new.
func (c *Client) SeenReserve(ctx context.Context, set, key string, o SeenOptions) (r *Reservation, state string, err error) {
	if o.TTL == 0 {
		o.TTL = 30 * time.Second
	}
	h, a, err := acquire(ctx, c, &seen, terms{name: set, key: key, session: o.Bind != api.BindTTL}, api.SeenReserveParams{
		Set: set, Key: key, TTLMS: api.Millis(o.TTL), Bind: o.Bind,
	})
	switch {
	case errors.Is(err, ErrBusy):
		return nil, a.State, nil
	case err != nil:
		return nil, "", err
	}
	return &Reservation{h, o.Keep}, a.State, nil
}

// SeenDo runs fn unless another client has done the work or is doing it. When fn returns
// nil, it records that the work is done; after an error or a panic the next caller runs its
// function. The context that fn gets ends with ctx, and also when the reservation is lost.
//
// It reports whether fn ran to its end without an error. It returns the error of fn,
// joined with an error that is ErrLost if another client may have done the work too.
func (c *Client) SeenDo(
	ctx context.Context, set, key string, o SeenOptions, fn func(context.Context, *Reservation) error,
) (done bool, err error) {
	r, _, err := c.SeenReserve(ctx, set, key, o)
	if err != nil || r == nil {
		return false, err
	}
	err = r.doBy(ctx, func(ctx context.Context) error { return fn(ctx, r) }, func(ctx context.Context, err error) error {
		if err != nil {
			return r.Release(ctx)
		}
		done = true
		return r.Commit(ctx)
	})
	return done, err
}
