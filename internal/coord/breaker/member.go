package breaker

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// MemberPolicy is the policy of a pool's breakers that a permit names: its text for the
// scripts, and what tells it from others of its name. The error is NotFound.
func (b *Breakers) MemberPolicy(name, pool string) (text, terms string, err error) {
	p, err := b.policies.find("breaker", name, pool)
	if err != nil {
		return "", "", err
	}
	return p.text(), p.numbers, nil
}

// MemberJitter is that of MemberPolicy's text, should a breaker open by a report.
func (b *Breakers) MemberJitter() int64 { return jitter() }

// MemberChanged counts and tells a change of a member's breaker that a permit made.
func (b *Breakers) MemberChanged(ctx context.Context, pool, member, was, is string) {
	b.changed(ctx, address{name: member, pool: pool}, was, is, "")
}

// Members are the members of pools, as their breakers see them.
type Members interface {
	// Touched has a pool look at a member again whose breaker was changed by a script of
	// this package. Without it the pool finds out when it believes the member to be
	// possible: at the latest when its breaker is no longer open or a probe is lost, but
	// never where it was forced open.
	Touched(ctx context.Context, pool, member string) error
}

// touched tells the pool of a breaker, if it has one, that it was changed. It runs on its
// own time: the change was made, whether or not its caller is there.
func (b *Breakers) touched(ctx context.Context, at address) error {
	if at.pool == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
	defer cancel()
	return b.members.Touched(ctx, at.pool, at.name)
}
