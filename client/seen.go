package client

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// SeenOptions say how to reserve what is to be done once. The zero SeenOptions
// reserve it for as long as this client is connected, 30 s at a time, and have it
// remembered for a day once it is done.
type SeenOptions struct {
	// TTL is how long the reservation outlives its last renewal; 0 = 30 s.
	TTL time.Duration
	// Bind is api.BindSession (the default: renewed by the sidecar while the
	// connection lives, given up when it closes) or api.BindTTL (neither).
	Bind string
	// Keep is how long it is remembered that it is done; 0 = a day, at most 366 days.
	Keep time.Duration
}

// Reservation is what this client has to do. Watch its Context: it ends when
// others may do the same.
type Reservation struct {
	held
	keep time.Duration
}

// Key is what is to be done; Name is its set.
func (r *Reservation) Key() string { return r.key }

// Commit says that it is done. For its errors, and for contexts that have ended,
// see Lock.Release; after one that is ErrLost others may do it too. Release gives
// it up instead.
func (r *Reservation) Commit(ctx context.Context) error {
	var a heldAnswer
	var more map[string]any
	if r.keep > 0 {
		more = map[string]any{"keep_ms": millis(r.keep)}
	}
	return r.endBy(ctx, api.SeenCommit.Name, more, &a, &a)
}

var seenKind = heldKind{
	noun: "seen", acquire: api.SeenReserve.Name, release: api.SeenRelease.Name,
	name: "set", key: "key", token: "token", named: true, unfenced: true,
}

// SeenReserve reserves a key of a set. The state says what it was: the
// reservation is nil unless that is new; reserved is someone else's, and done was
// committed.
func (c *Client) SeenReserve(ctx context.Context, set, key string, o SeenOptions) (r *Reservation, state string, err error) {
	if o.TTL == 0 {
		o.TTL = 30 * time.Second
	}
	params := api.SeenReserveParams{Set: set, Key: key, TTLMS: millis(o.TTL), Bind: o.Bind}
	for {
		x := &Reservation{held: held{c: c, kind: &seenKind, name: set, key: key, session: o.Bind != api.BindTTL}, keep: o.Keep}
		var a api.SeenReserveResult
		err := c.invoke(ctx, invocation{method: api.SeenReserve.Name, params: &params, result: &a, lease: &x.held, ownID: true})
		switch {
		case err != nil:
			x.disown(err)
			return nil, "", err
		case a.Reserved:
			if err := x.take(ctx, grant{ttlMS: params.TTLMS}); err != nil {
				return nil, "", err
			}
			return x, a.State, nil
		}
		x.forget()
		// A reservation that ended with its broken connection says nothing of now.
		if !a.Replayed {
			return nil, a.State, nil
		}
	}
}

// SeenDo runs fn if nobody did before or does now, and has it remembered when fn
// returns nil; after an error or a panic the next one who asks does it. The
// context that fn gets ends with ctx, and when the reservation is lost.
//
// It reports whether fn was run to its end without an error, and returns fn's
// error, joined with one that is ErrLost when others may have done it too.
func (c *Client) SeenDo(ctx context.Context, set, key string, o SeenOptions, fn func(context.Context) error) (done bool, err error) {
	r, _, err := c.SeenReserve(ctx, set, key, o)
	if err != nil || r == nil {
		return false, err
	}
	err = r.doBy(ctx, fn, func(ctx context.Context, err error) error {
		if err != nil {
			return r.Release(ctx)
		}
		done = true
		return r.Commit(ctx)
	})
	return done, err
}
