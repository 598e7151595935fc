package breaker

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// MemberPolicy finds the policy of a pool's breakers that a permit names. It returns the text for the scripts, and as
// terms that text without its jitter, which differs if the policy was changed under the same name. The error is
// NotFound.
func (b *Breakers) MemberPolicy(name, pool string) (text, terms string, err error) {
	p, err := b.policies.find("breaker", name, pool)
	if err != nil {
		return "", "", err
	}
	return p.text(), p.numbers, nil
}

// MemberJitter returns a new jitter, in the form of MemberPolicy's text, for a report that may open a breaker.
func (b *Breakers) MemberJitter() int64 { return jitter() }

// MemberChanged reports a change of a member's breaker that a permit made, as a metric and an event.
func (b *Breakers) MemberChanged(ctx context.Context, pool, member, was, is string) {
	b.changed(ctx, address{name: member, pool: pool}, was, is, "")
}

// Members is what this package uses of pools.
type Members interface {
	// Touched makes a pool judge a member again after a script of this package changed the member's breaker. Without
	// it the pool notices the change only when it expects the member to be possible: at the latest when the breaker
	// would no longer be open or a probe would be lost, but never if the breaker was forced open.
	Touched(ctx context.Context, pool, member string) error
}

// touched notifies the pool of a breaker, if it has one, that the breaker was changed. It has a deadline of its own,
// since the change was made even if its caller is gone.
func (b *Breakers) touched(ctx context.Context, at address) error {
	if at.pool == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	return b.members.Touched(ctx, at.pool, at.name)
}
