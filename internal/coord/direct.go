package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// A method whose call is mostly one script can go the direct path: the goroutine that reads
// a connection prepares the call and submits its script, and the one that reads the reply
// of Redis answers it. Whatever is not a plain answer goes on from there on a goroutine of
// its own, as if the call had been carried out by Run.

// Halves are the two halves of a method on the direct path. Q is what the first keeps for
// the second; it has room for one call and is used again for others.
type Halves[P, R, Q any] struct {
	// Prepare answers the call if that needs no Redis, or has q.Asked ask for it. It must
	// not block.
	Prepare func(c Caller, p *P, q *Q) (Prepared, R, error)
	// Asked is the run of the script in q.
	Asked func(q *Q) *lua.Asked
	// Answer makes the result of the script's answer. It blocks only if the first try was
	// not answered, and then as long as ctx allows.
	Answer func(ctx context.Context, q *Q) (R, error)
	// Forget drops what is kept of a call.
	Forget func(q *Q)
}

// Prepared is what came of preparing a call.
type Prepared uint8

const (
	// Elsewhere: the call has to be carried out by Run.
	Elsewhere Prepared = iota
	// Known: it is answered.
	Known
	// Asking: its script is to be submitted.
	Asking
)

// DirectInvocation is an invocation of a method with halves.
type DirectInvocation interface {
	Invocation
	// Prepare is that of the halves; Known fills in the result unless there is an error.
	Prepare(c Caller) (Prepared, error)
	// Asked is the run of the script of a call that was prepared.
	Asked() *lua.Asked
	// Answer fills in the result.
	Answer(ctx context.Context) error
	// Forget drops what was kept between the halves.
	Forget()
}

// Completion and Flusher are those of submitted scripts, Crowd that of their calls.
type (
	Completion = redis.Completion
	Flusher    = redis.Flusher
	Crowd      = redis.Crowd
)

// Direct gives a method its halves.
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
}

func (d *direct[P, R, Q]) Prepare(c Caller) (p Prepared, err error) {
	p, d.result, err = d.halves.Prepare(c, &d.params, &d.kept)
	return p, err
}

func (d *direct[P, R, Q]) Asked() *lua.Asked { return d.halves.Asked(&d.kept) }

func (d *direct[P, R, Q]) Answer(ctx context.Context) (err error) {
	d.result, err = d.halves.Answer(ctx, &d.kept)
	return err
}

func (d *direct[P, R, Q]) Forget() { d.halves.Forget(&d.kept) }
