package coord

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// A method whose call is mostly one script can take the direct path: the goroutine that reads
// a connection prepares the call and submits its script, and the goroutine that reads the reply
// of Redis answers the call. If that reply does not decide the call, for example because it was lost, the
// call goes on on a goroutine of its own, as if Run had carried it out.

// Halves are the two halves of a method on the direct path. Q is what the first half keeps for
// the second; it has room for one call and is reused for others.
type Halves[P, R, Q any] struct {
	// Prepare answers the call if that needs no Redis; otherwise it prepares the run q.Asked. It must
	// not block. Answer is called for each call that was prepared, even if its script could not be
	// submitted, so that it can complete what Prepare has changed in this process.
	Prepare func(c Caller, p *P, q *Q) (Prepared, R, error)
	// Asked returns the run of the script in q.
	Asked func(q *Q) *lua.Asked
	// Answer makes the result from the script's reply, and must not block. If more is to be done
	// that may block, for example because the first try got no reply or was not made, it returns
	// a Rest that does it; nil = nothing is left.
	Answer func(q *Q) (R, Rest[R], error)
	// OwnTime reports whether the script of a call has a deadline of its own, so that it goes on when
	// the caller is gone. Nil = no call has.
	OwnTime func(q *Q) bool
	// Forget drops what is kept of a call.
	Forget func(q *Q)
}

// Rest carries out what remains of a call whose Answer could not complete it. It may block
// as long as ctx allows.
type Rest[R any] func(ctx context.Context) (R, error)

// Prepared is the outcome of preparing a call.
type Prepared uint8

const (
	// Elsewhere: the call has to be carried out by Run.
	Elsewhere Prepared = iota
	// Known: the call is answered.
	Known
	// Asking: the script of the call is to be submitted.
	Asking
)

// DirectInvocation is an invocation of a method with halves.
type DirectInvocation interface {
	Invocation
	// Prepare is Halves.Prepare. If it returns Known and no error, the result is filled in.
	Prepare(c Caller) (Prepared, error)
	// Asked returns the run of the script of a call that was prepared.
	Asked() *lua.Asked
	// OwnTime reports whether the call goes on when its caller is gone.
	OwnTime() bool
	// Answer fills in the result, and does not block. If it returns more, Finish has to be called.
	Answer() (more bool, err error)
	// Finish fills in the result of a call that Answer did not complete, or that was not
	// submitted. It blocks as long as ctx allows.
	Finish(ctx context.Context) error
	// Forget drops what was kept between the halves.
	Forget()
}

// Completion and Flusher belong to submitted scripts, Crowd to their calls.
type (
	Completion = redis.Completion
	Flusher    = redis.Flusher
	Crowd      = redis.Crowd
)

// Direct puts a method on the direct path by its halves.
func Direct[P, R, Q any](h *Halves[P, R, Q]) Option {
	return func(m *Method) {
		open := m.New
		m.Direct = true
		m.New = func() Invocation {
			return &direct[P, R, Q]{invocation: open().(*invocation[P, R]), halves: h} //nolint:forcetypeassert // methods make no others
		}
	}
}

type direct[P, R, Q any] struct {
	*invocation[P, R]
	halves *Halves[P, R, Q]
	kept   Q
	rest   Rest[R]
}

func (d *direct[P, R, Q]) Prepare(c Caller) (p Prepared, err error) {
	p, d.result, err = d.halves.Prepare(c, &d.params, &d.kept)
	return p, err
}

func (d *direct[P, R, Q]) Asked() *lua.Asked { return d.halves.Asked(&d.kept) }

func (d *direct[P, R, Q]) OwnTime() bool {
	return d.halves.OwnTime != nil && d.halves.OwnTime(&d.kept)
}

func (d *direct[P, R, Q]) Answer() (more bool, err error) {
	d.result, d.rest, err = d.halves.Answer(&d.kept)
	return d.rest != nil, err
}

func (d *direct[P, R, Q]) Finish(ctx context.Context) (err error) {
	if d.rest == nil {
		if more, err := d.Answer(); !more {
			return err
		}
	}
	d.result, err = d.rest(ctx)
	return err
}

func (d *direct[P, R, Q]) Forget() {
	d.rest = nil
	d.halves.Forget(&d.kept)
}

// Answering returns the Answer of a method whose second half is f, which blocks only if the first
// try got no reply.
func Answering[R, Q any](asked func(*Q) *lua.Asked, f func(context.Context, *Q) (R, error)) func(*Q) (R, Rest[R], error) {
	return func(q *Q) (r R, rest Rest[R], err error) {
		if asked(q).Answered() {
			r, err = f(context.Background(), q)
			return r, nil, err
		}
		return r, func(ctx context.Context) (R, error) { return f(ctx, q) }, nil
	}
}

// Single describes a method that runs one script. K is what a call keeps from its first half
// to its second.
type Single[P, I, O, R, K any] struct {
	Runner *lua.Runner
	Script lua.Script[I, O]
	// Ask returns the script's input and Asking, or the result of the call and Known, or Elsewhere. It must not
	// block.
	Ask func(c Caller, p *P, k *K) (q Question[I], prepared Prepared, r R, err error)
	// Answer makes the result from the script's outcome, and must not block; see Halves.Answer.
	// ctx is the call's.
	Answer func(ctx context.Context, k *K, out lua.Outcome[O], err error) (R, Rest[R], error)
	// OwnTime returns the time limit of the script if it goes on when its caller is gone; 0 = it ends
	// with the call. Nil = 0 for all calls.
	OwnTime func(k *K) time.Duration
	// Elsewhere carries out the calls for which Ask returns Elsewhere. Nil = there are none.
	Elsewhere func(ctx context.Context, c Caller, p *P) (R, error)
}

// Question is one run of a script: its input, its stored reply and its patience.
type Question[I any] struct {
	In          I
	StoredReply lua.StoredReply
	Patience    lua.Patience
}

// Halved is a method that is carried out by its halves, on the caller's goroutine or on the direct path.
type Halved[P, R any] struct {
	// Run carries a call out, on the goroutine of its caller.
	Run func(ctx context.Context, c Caller, p *P) (R, error)
	// Direct puts the method on the direct path.
	Direct Option
}

// single is what a call keeps between its halves.
type single[K any] struct {
	kept K
	run  lua.Asked
}

// Halved makes both ways of carrying out the method from the same two halves.
func (s Single[P, I, O, R, K]) Halved() Halved[P, R] {
	return Halved[P, R]{Run: s.carryOut, Direct: Direct(&Halves[P, R, single[K]]{
		Prepare: s.prepare,
		Asked:   func(q *single[K]) *lua.Asked { return &q.run },
		Answer:  s.answer,
		OwnTime: func(q *single[K]) bool { return s.ownTime(q) > 0 },
		Forget: func(q *single[K]) {
			var none K
			q.kept = none
			q.run.Forget()
		},
	})}
}

func (s Single[P, I, O, R, K]) prepare(c Caller, p *P, q *single[K]) (Prepared, R, error) {
	ask, prepared, r, err := s.Ask(c, p, &q.kept)
	switch {
	case err != nil:
		return Known, r, err
	case prepared == Asking:
		lua.Ask(s.Runner, s.Script, ask.In, ask.StoredReply, ask.Patience, &q.run)
	}
	return prepared, r, nil
}

func (s Single[P, I, O, R, K]) ownTime(q *single[K]) time.Duration {
	if s.OwnTime == nil {
		return 0
	}
	return s.OwnTime(&q.kept)
}

func (s Single[P, I, O, R, K]) answer(q *single[K]) (R, Rest[R], error) {
	if !q.run.Answered() {
		var none R
		return none, func(ctx context.Context) (R, error) { return s.finish(ctx, q) }, nil
	}
	ctx := context.Background()
	out, err := lua.Answer(ctx, s.Runner, s.Script, &q.run)
	return s.Answer(ctx, &q.kept, out, err)
}

// finish is answer for callers that may block.
func (s Single[P, I, O, R, K]) finish(ctx context.Context, q *single[K]) (R, error) {
	run, cancel := ctx, context.CancelFunc(func() {})
	if own := s.ownTime(q); own > 0 {
		run, cancel = context.WithTimeout(context.WithoutCancel(ctx), own)
	}
	defer cancel()
	out, err := lua.Answer(run, s.Runner, s.Script, &q.run)
	r, rest, err := s.Answer(ctx, &q.kept, out, err)
	if rest != nil {
		return rest(ctx)
	}
	return r, err
}

// carryOut carries a call out on the goroutine of its caller.
func (s Single[P, I, O, R, K]) carryOut(ctx context.Context, c Caller, p *P) (R, error) {
	q := &single[K]{}
	switch prepared, r, err := s.prepare(c, p, q); {
	case err != nil, prepared == Known:
		return r, err
	case prepared == Elsewhere:
		return s.Elsewhere(ctx, c, p)
	}
	return s.finish(ctx, q)
}
