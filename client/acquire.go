package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// heldKind describes the leases of one noun to code that serves all nouns.
type heldKind struct {
	noun             string // for errors
	renew, release   string // its methods; renew is empty if there is none
	name, token, ttl string // the keys of their parameters
	// named: the sidecar makes the token and returns it with the grant.
	named bool
	// unfenced: a grant has no fence.
	unfenced bool
	// callersID: the request id of the caller's context is sent with an acquisition.
	callersID bool
	// reported: the release also takes an HTTP status, Retry-After and a duration.
	reported bool
	// key is the parameter with the second part of the name; empty = there is none.
	key string
	// unused is the outcome to report for a grant that was not used; empty = the release takes no outcome.
	unused string
}

// noun adds the acquisition, whose types differ from noun to noun.
type noun[P, R any] struct {
	heldKind
	acquire api.Method[P, R]
	// setToken puts the client's token into the parameters. Named nouns have none.
	setToken func(*P, string)
	decide   func(*P, *R) decision
}

// terms are the choices of the caller of an acquisition.
type terms struct {
	name, key string        // key: see heldKind.key
	session   bool          // bound to the session instead of its TTL
	maxHold   time.Duration // the longest hold; 0 = unlimited
}

// decision holds what the results of all acquisitions have in common.
type decision struct {
	granted, replayed bool

	// The following are set if it is a grant.
	fence           string
	ttlMS, waitedMS int64

	// The following are set if it is a refusal.
	heldBy       *api.Holder
	reason       string
	retryAfterMS int64
}

// acquire asks for a lease until it is granted or refused, and returns the last result
// too. A refusal is a *BusyError. A grant that arrives after ctx has ended is given back.
func acquire[P, R any](ctx context.Context, c *Client, n *noun[P, R], t terms, params P) (*held, R, error) {
	_, fixedID := ctx.Value(requestIDKey{}).(string)
	both := struct { // one allocation
		params P
		result R
	}{params: params}
	for {
		h := &held{c: c, kind: &n.heldKind, terms: t}
		h.itself.held = h
		if n.setToken != nil {
			h.token = rand.Text()
			n.setToken(&both.params, h.token)
		}
		var none R
		both.result = none
		err := c.invoke(ctx, invocation{method: n.acquire.Name, params: &both.params, result: &both.result, lease: h, ownID: !n.callersID})
		if err != nil {
			h.disown(err)
			return nil, both.result, err
		}
		d := n.decide(&both.params, &both.result)
		if d.granted {
			if err := h.take(ctx, d); err != nil {
				err = fmt.Errorf("%s: %w: %w", n.acquire.Name, errMalformed, err)
				h.disown(&brokenError{err, true})
				return nil, both.result, err
			}
			return h, both.result, nil
		}
		h.forget()
		// A replayed refusal is about a grant that ended with its broken connection, before
		// the call was repeated. It does not describe the present state, so a new call is made,
		// unless the caller fixed the request id, which stays bound to that grant.
		if !d.replayed || n.callersID && fixedID {
			return nil, both.result, &BusyError{
				Noun: n.noun, Name: t.name, HeldBy: d.heldBy, Reason: d.reason,
				RetryAfter: time.Duration(d.retryAfterMS) * time.Millisecond,
			}
		}
	}
}
