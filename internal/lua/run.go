package lua

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// StoredReply makes the script run at most once for a request id, even if replies are
// lost. The zero StoredReply does nothing.
type StoredReply struct {
	// Key is the stored reply's key, under the same tag as the script's keys.
	Key string
	// Fingerprint is a hash of method and params: the same id with a different
	// fingerprint is a conflict.
	Fingerprint string
}

// Outcome is a script's output and how it was obtained.
type Outcome[O any] struct {
	Value O
	// Replayed is set if the value is the stored reply of an earlier run with this id.
	Replayed bool
	// Sent is when the try that got the reply was sent: validity counts from here.
	Sent time.Time
}

// Run executes a script once. It repeats a try that certainly did not run; one whose
// outcome is unknown only if the script is Idempotent or a stored reply is given. While
// Redis replies and refuses, it tries for 250 ms at most, and only once if the refusal was
// known before.
//
// Errors: ErrConflict; redis.ErrUnavailable (it did not run), with the *redis.Trouble
// that prevented it; redis.ErrMaybeExecuted (it may have run and was not repeated); the
// context's error if it ended before anything was sent, else ErrMaybeExecuted
// wrapping it; any other error is a fault of the script or its reply.
//
// If the context of a call ends while the call is alone on its connection, Run returns
// when Redis replies, or after the command timeout at the latest.
func Run[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply) (Outcome[O], error) {
	return RunAs(ctx, r, s, in, stored, Patient)
}

// Attempt is Run with Impatient, for callers that have a fallback for an outage.
func Attempt[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply) (Outcome[O], error) {
	return RunAs(ctx, r, s, in, stored, Impatient)
}

// Patience is how long a run is repeated after its first try has failed.
type Patience uint8

const (
	// Impatient runs do not wait for the end of an outage that began while they were under
	// way.
	Impatient Patience = iota
	// Patient runs wait for it.
	Patient
	// Insistent runs are also repeated while Redis replies and refuses, until shortly before
	// the deadline of their context. Other runs end after 250 ms of refusals.
	Insistent
)

func (p Patience) flags() (patient, insists bool) { return p >= Patient, p == Insistent }

// RunAs is Run with another patience.
func RunAs[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply, p Patience) (Outcome[O], error) {
	var c call
	c.patient, c.insists = p.flags()
	return execute(ctx, r, s, in, stored, &c)
}

// execute runs a script. c has the patience and the replicas; execute fills in the rest.
func execute[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply, c *call) (Outcome[O], error) {
	fill(r, s, in, stored, c)
	return carryOut(ctx, r, s, c)
}

// carryOut runs a call that is filled in.
func carryOut[I, O any](ctx context.Context, r *Runner, s Script[I, O], c *call) (Outcome[O], error) {
	ctx, span := r.startSpan(ctx, s.Source)
	reply, err := r.run(ctx, c)
	out, err := outcome(s, c, reply, err)
	if span != nil {
		r.endSpan(span, c, out.Value, out.Replayed, err)
	}
	return out, err
}

// fill makes c a run of a script.
func fill[I, O any](r *Runner, s Script[I, O], in I, stored StoredReply, c *call) {
	if !s.StoresReply {
		stored = StoredReply{}
	}
	c.s, c.repeatable = s.Source, s.Idempotent || stored.Key != ""
	c.Args, c.Script, c.Runs = command(r, s, in, stored, c.Args[:0]), s.Name, s.commands
	c.Many, c.Takes = r.many(s.Source), s.takes()
}

// outcome makes the outcome of a run that has ended.
func outcome[I, O any](s Script[I, O], c *call, reply any, err error) (Outcome[O], error) {
	out := Outcome[O]{Sent: c.Sent}
	if err == nil {
		out.Value, out.Replayed, err = decode(s, reply)
	}
	if err != nil {
		err = fmt.Errorf("script %s: %w", s.Name, err)
	}
	return out, err
}

// command builds the arguments: name, script, count of keys, keys, ARGV. It reuses the
// memory of args, but not the values that the arguments point to, since a batch may still
// read those when its caller has returned.
func command[I, O any](r *Runner, s Script[I, O], in I, stored StoredReply, args []any) []any {
	const before = 3 // the name, the script and the count
	if args == nil {
		args = make([]any, 0, before+len(s.Keys)+1+len(s.Args)+2)
	}
	sent := &struct {
		in     I
		stored StoredReply
	}{in, stored}
	args, keys := s.put(&sent.in, &sent.stored.Key, append(args, redis.EvalSHA, &s.form(forOne, r.clock != nil).sha, nil))
	args[2] = keys
	if stored.Key != "" {
		args = append(args, &sent.stored.Fingerprint)
	}
	if r.clock != nil {
		args = append(args, r.clock())
	}
	return args
}

// decode reads a reply: the values of the contract, or {'conflict'} or {'replayed', values} of
// once in lib/once.lua.
func decode[I, O any](s Script[I, O], reply any) (out O, replayed bool, err error) {
	values, ok := reply.([]any)
	if !ok {
		values = []any{reply}
	}
	if len(values) > 0 {
		switch values[0] {
		case "conflict":
			return out, false, ErrConflict
		case "replayed":
			inner, ok := values[len(values)-1].([]any)
			if !ok {
				return out, false, fmt.Errorf("reply: a replay holds %T, not a list", values[len(values)-1])
			}
			values, replayed = inner, true
		}
	}
	read := &struct { // one allocation for both
		out   O
		reply Reply
	}{reply: Reply{values: values}}
	s.read(&read.out, &read.reply, replayed)
	if err := read.reply.err; err != nil {
		return read.out, replayed, fmt.Errorf("reply: %w", err)
	}
	return read.out, replayed, nil
}
