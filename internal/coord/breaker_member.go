package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
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
func (b *Breakers) MemberJitter() int64 { return breakerJitter() }

// MemberChanged counts and tells a change of a member's breaker that a permit made.
func (b *Breakers) MemberChanged(ctx context.Context, pool, member, was, is string) {
	b.changed(ctx, breakerAt{name: member, pool: pool}, was, is, "")
}

// touched has views look at a member again whose breaker was changed from outside.
// Without it they find out when they believe it to be possible: at the latest when
// it is no longer open or a probe is lost, but never where it was forced open. It
// runs on its own time: the change was made, whether or not its caller is there.
func (b *Breakers) touched(ctx context.Context, at breakerAt) error {
	if at.pool == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	_, err := lua.Run(ctx, b.runner, lua.PoolTouch, b.touch(at), lua.Latch{})
	return err
}

func (b *Breakers) touch(at breakerAt) lua.PoolTouchIn {
	return lua.PoolTouchIn{PoolKeys: b.keys.poolKeys(at.pool), Member: at.name, Inboxes: b.keys.inboxes()}
}
