package redis

import (
	"context"
	"sync/atomic"
	"time"
)

// EvalSHA is the command that runs a script. Connections search for this text in what they
// write, so that all code must spell it in this way.
const EvalSHA = "evalsha"

// Try is one run of a script: what is sent, how it is sent, and how the last try ended.
// It may be sent again after a failure; the caller decides that. It is for one
// goroutine.
type Try struct {
	// Args are EvalSHA, the script's SHA, the count of its keys, the keys and the
	// other arguments; texts and numbers may be pointers. The first key decides which node
	// it goes to.
	Args []any
	// Many is the SHA of the script's form for many items, which takes the keys of all items,
	// then what AppendColumns makes of their arguments, and returns the list of their replies;
	// a text in place of a reply is an error. Tries with the same form that wait for one server
	// are sent together. Empty = the script has no such form.
	Many string
	// Takes is how long one item keeps the server busy, as measured.
	Takes time.Duration
	// Script is the name of the script, a label of metrics.
	Script string
	// Runs returns the commands that the script runs, in capitals. It is called only
	// while Redis denies the user some commands; a script that runs one of those is not sent.
	Runs func() []string
	// Replicas is how many replicas Send waits for after a reply, for at most Wait
	// and not longer than its context. An embedded store has none and does not wait.
	Replicas int
	Wait     time.Duration

	// Tries is how often it was sent, Sent when it was sent last.
	Tries int
	Sent  time.Time
	// Reply is the reply of Redis. Acked is how many replicas have acknowledged the write; 0 if
	// that is not known.
	Reply any
	Acked int
	// Failure is how the last try ended.
	Failure Failure
	// Again is set by Exchange if another try may succeed.
	Again bool

	node  *node
	ask   bool                   // the next try goes to the node that ASK named
	loads uint64                 // the node's count of loads of scripts before the last try
	known bool                   // before the last try the node was known to refuse
	on    atomic.Pointer[queued] // its entry in the queue of its node while it is submitted
	turn  Turn                   // nil = it has none
}

// key returns the key that decides which node the try goes to; a command that runs no
// script has none.
func (t *Try) key() string {
	if len(t.Args) > 3 {
		if n, _ := t.Args[2].(int); n > 0 {
			return TextOf(t.Args[3])
		}
	}
	return ""
}

// TextOf returns the text of an argument, which may be a pointer to it.
func TextOf(arg any) string {
	if p, ok := arg.(*string); ok {
		return *p
	}
	text, _ := arg.(string)
	return text
}

// Route finds the node for the next try and waits until calls may go there. If it
// returns false, Failure has the reason. While the node is known to be down it fails at
// once, unless patient is set, which is for calls that were under way when the outage
// began. Before the first probe has ended every call waits.
func (s *Store) Route(ctx context.Context, t *Try, patient bool) bool {
	if t.ask {
		return true
	}
	var err error
	t.node, err = s.route(ctx, t.key(), patient)
	t.Failure = classify(err)
	return err == nil
}

// route is Route for a key. It never dials and never asks a cluster for its slots.
func (s *Store) route(ctx context.Context, key string, patient bool) (*node, error) {
	for {
		n := s.only
		var c *condition
		var moved <-chan struct{}
		if s.ring != nil {
			n, c, moved = s.ring.find(key)
		}
		if n != nil {
			c = n.condition.Load()
		}
		switch {
		case c.up:
			return n, nil
		case c.down() && !patient, c.closed():
			return nil, &unsent{"down", c.trouble}
		}
		select {
		case <-c.changed:
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Send sends the try once to the node that Route found. It sets Failure, and Reply if
// Redis replied.
func (t *Try) Send(ctx context.Context) { t.Failure = t.send(ctx) }

func (t *Try) send(ctx context.Context) Failure {
	if err := ctx.Err(); err != nil {
		return Failure{Verdict: Ended, Why: "ended", Err: err}
	}
	n := t.node
	if bar := n.bars(t.Runs); bar != nil {
		return Failure{Verdict: NotRun, Why: bar.Name, Err: bar, Known: true}
	}
	t.turn = turnOf(ctx)
	if err := t.await(ctx); err != nil {
		return Failure{Verdict: Ended, Why: "ended", Err: err}
	}
	t.Tries++
	t.known = n.condition.Load().refusing()
	t.loads, t.Sent = n.loads.Load(), time.Now()
	reply, err := t.transmit(ctx)
	f := t.ended(ctx, reply, err)
	if f.Verdict == Answered && t.turn != nil {
		t.turn.Answered()
	}
	return f
}

// ended records the reply or the error of a try, and starts a probe if the error may mean
// that Redis is down or refuses.
func (t *Try) ended(ctx context.Context, reply any, err error) Failure {
	n := t.node
	f := n.judge(err)
	f.Known = t.known
	switch over := ctx.Err() != nil; {
	case f.Verdict == Ended && !over:
		f.Verdict = NotRun // a limit of the pool ended it, not the caller's context
	case over && f.at("write"):
		f.Verdict = Ended
	}
	n.of.tel.Script(ctx, t.Script, f.outcome(), time.Since(t.Sent))
	if f.Verdict == Answered {
		t.Reply = reply
		return f
	}
	// A lost reply means nothing about Redis if the caller's own deadline ended the wait.
	if ctx.Err() == nil && f.suspect() && (!t.known || !f.Refused()) {
		n.look()
	}
	return f
}

// transmit sends the command by asking, sticky or send, as this try requires.
func (t *Try) transmit(ctx context.Context) (reply any, err error) {
	switch {
	case t.ask:
		return t.node.asking(ctx, t)
	case t.waits(t.node.of):
		return t.node.sticky(ctx, t)
	}
	return t.node.send(ctx, t)
}

// waits reports whether Send waits for replicas.
func (t *Try) waits(s *Store) bool { return t.Replicas > 0 && s.topology != Embedded }

// await waits for the try's turn. A try that failed before, or that is not sent through
// the node's pipeline, waits until all calls ahead have ended.
func (t *Try) await(ctx context.Context) error {
	switch {
	case t.turn == nil:
		return nil
	case t.Tries > 0, t.ask, t.waits(t.node.of):
		return t.turn.Await(ctx, nil)
	default:
		return t.turn.Await(ctx, t.node)
	}
}

// Next is when to send another try.
type Next uint8

// The results of Recover.
const (
	Later  Next = iota // after a pause
	Soon               // at once a few times, then after a pause: it may fail the same way for ever
	AtOnce             // at once
)

// Recover does what the failure of the last try requires before another try: it loads
// the scripts, follows a redirection, or asks a cluster for its slots. Call Route next.
func (t *Try) Recover(ctx context.Context) Next {
	f, n := t.Failure, t.node
	ring := n.of.ring
	t.ask = false
	switch {
	case f.Why == whyNoScript:
		// If the load fails, the next try fails too and has the reason.
		_ = n.reload(ctx, t.loads)
		return Soon
	case f.Why == whyCrossSlot:
		return Soon // from now on runs have items of one tag only
	case f.Why == whyBehind:
		return AtOnce // it waits for the call ahead, however long
	case f.Why == whyAsk && ring != nil:
		if to := ring.redirected(f, n.addr); to != nil {
			t.ask, t.node = true, to
			return AtOnce
		}
		return Soon
	case f.Why == whyMoved && ring != nil:
		ring.redirected(f, n.addr)
		return Soon
	case f.Why == whyCluster && ring != nil:
		ring.look()
	}
	return Later
}

// Settled waits after a refusal until a probe has ended and, if the node refuses, until
// it stops refusing. It returns false if ctx ended first. So a thousand calls that are
// refused at the same time cause one probe and not a thousand tries.
func (t *Try) Settled(ctx context.Context) bool {
	n := t.node
	looked := n.round.Load().over
	if !n.condition.Load().refusing() {
		n.look()
		select {
		case <-looked:
		case <-n.ctx.Done(): // the probe has ended
			return false
		case <-ctx.Done():
			return false
		}
	}
	c := n.condition.Load()
	if !c.refusing() {
		return true
	}
	select {
	case <-c.changed:
		return true
	case <-ctx.Done():
		return false
	}
}
