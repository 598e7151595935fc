package lua

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// StoredReply makes a run happen once per request id, whatever is lost on the way.
// The zero StoredReply does nothing.
type StoredReply struct {
	// Key is the stored reply's key, under the same tag as the script's keys.
	Key string
	// Fingerprint is a hash of method and params: the same id with another
	// fingerprint is a conflict.
	Fingerprint string
}

// Outcome is a script's answer and what a caller must know of how it came.
type Outcome[O any] struct {
	Value O
	// Replayed: the value is the stored reply of an earlier run with this id.
	Replayed bool
	// Sent is when the run that answered was sent: validity counts from here.
	Sent time.Time
}

// Run executes a script once, retrying what certainly did not run, and what is
// ambiguous only when the script is Idempotent or a stored reply is given. While Redis
// answers and refuses it tries for 250 ms at most, and once where that is known.
//
// Errors: ErrConflict; redis.ErrUnavailable (it did not run), with the *redis.Trouble
// that kept it; redis.ErrMaybeExecuted (it may have run and was not repeated); the
// context's error when it ended before anything was sent, else ErrMaybeExecuted
// wrapping it; anything else is a fault of the script or its reply.
//
// A call that ends its context while it is alone on the connection returns when
// Redis answers, or after the command timeout at the latest.
func Run[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply) (Outcome[O], error) {
	return RunAs(ctx, r, s, in, stored, Patient)
}

// Attempt is Run for callers with a fallback for an outage: see Impatient.
func Attempt[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply) (Outcome[O], error) {
	return RunAs(ctx, r, s, in, stored, Impatient)
}

// Patience is how long a run goes on after a first try that failed.
type Patience uint8

const (
	// Impatient runs do not wait for the end of an outage that came while they were under
	// way.
	Impatient Patience = iota
	// Patient runs do.
	Patient
	// Insistent runs also go on while Redis answers and refuses, until shortly before the
	// deadline of their context, where others end after 250 ms.
	Insistent
)

func (p Patience) flags() (patient, insists bool) { return p >= Patient, p == Insistent }

// RunAs is Run with another patience.
func RunAs[I, O any](ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply, p Patience) (Outcome[O], error) {
	var c call
	c.patient, c.insists = p.flags()
	return execute(ctx, r, s, in, stored, &c)
}

// execute runs a script. c says how; execute fills in the rest of it.
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

// outcome reads how a run has ended.
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

// command builds the arguments: name, script, count of keys, keys, ARGV. It uses the
// memory of args. What the arguments point to is never used again, since a batch may still
// read it when its caller has left.
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

// decode reads a reply. Instead of the values it may hold what once of lib/once.lua
// answers.
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
	read := &struct { // allocated at once
		out   O
		reply Reply
	}{reply: Reply{values: values}}
	s.read(&read.out, &read.reply, replayed)
	if err := read.reply.err; err != nil {
		return read.out, replayed, fmt.Errorf("reply: %w", err)
	}
	return read.out, replayed, nil
}
