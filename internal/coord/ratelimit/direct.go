package ratelimit

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// asked is a call on the direct path, between its halves.
type asked struct {
	question question
	run      lua.Asked
}

// halves are the two halves of Acquire, or of Peek. A call that waits, takes a permit or
// names a pool leaves the direct path, since more than one script may decide about it.
func (l *Limiter) halves(peek bool) coord.Option {
	run := func(a *asked) *lua.Asked { return &a.run }
	return coord.Direct(&coord.Halves[api.RatelimitParams, api.RatelimitResult, asked]{
		Prepare: func(c coord.Caller, p *api.RatelimitParams, a *asked) (coord.Prepared, api.RatelimitResult, error) {
			if peek {
				c = coord.Caller{}
			}
			return l.prepare(c, p, peek || p.Cost == 0, a)
		},
		Asked:  run,
		Answer: coord.Answering(run, l.answer),
		Forget: func(a *asked) {
			a.question.ahead.forgo()
			a.question = question{}
			a.run.Forget()
		},
	})
}

// prepare is the first half: it answers the call, sets the script to run in a, or sends the
// call off the direct path.
func (l *Limiter) prepare(c coord.Caller, p *api.RatelimitParams, peek bool, a *asked) (coord.Prepared, api.RatelimitResult, error) {
	if p.Pool != "" || p.WaitMS > 0 && !peek {
		return coord.Elsewhere, api.RatelimitResult{}, nil
	}
	q, d, known, err := l.open(c, p, peek)
	switch {
	case err != nil:
		return coord.Known, api.RatelimitResult{}, err
	case known:
		d, err = l.decided(context.Background(), q, d, nil)
		return coord.Known, d.RatelimitResult, err
	case q.lim.options.MaxConcurrent > 0 || !l.seals.fresh():
		q.ahead.forgo()
		return coord.Elsewhere, api.RatelimitResult{}, nil
	}
	a.question = q
	switch {
	case q.ahead.of != nil:
		lua.Ask(l.runner, *q.lim.algorithm.lease, q.block(), lua.StoredReply{}, q.patience(), &a.run)
	case q.lim.lean():
		lua.Ask(l.runner, TokenBucketScript, q.leanCharge(), q.stored, q.patience(), &a.run)
	default:
		lua.Ask(l.runner, q.lim.algorithm.script, q.charge(), q.stored, q.patience(), &a.run)
	}
	return coord.Asking, api.RatelimitResult{}, nil
}

// answer is the second half. It blocks only if the first try got no reply.
func (l *Limiter) answer(ctx context.Context, a *asked) (api.RatelimitResult, error) {
	q := a.question
	var out answer
	var err error
	switch {
	case q.ahead.of != nil:
		out, err = q.chargedAhead(lua.Answer(ctx, l.runner, *q.lim.algorithm.lease, &a.run))
	case q.lim.lean():
		var lean lua.Outcome[coord.LimitAnswer]
		lean, err = lua.Answer(ctx, l.runner, TokenBucketScript, &a.run)
		out = leanAnswer(lean)
	default:
		out, err = lua.Answer(ctx, l.runner, q.lim.algorithm.script, &a.run)
	}
	d, _, err := l.answered(ctx, q, out, err)
	d, err = l.decided(ctx, q, d, err)
	return d.RatelimitResult, err
}
