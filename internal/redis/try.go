package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// EvalSHA is the command that runs a script. Connections look for it in what they
// send, so that it is written in no other way.
const EvalSHA = "evalsha"

// Try is one run of a script on its way: what is sent, how it goes, and how the last
// try ended. One goroutine uses it, and sends it as often as it likes; nothing here
// sends it twice.
type Try struct {
	// Args are EvalSHA, the script's SHA, the count of its keys, the keys and the
	// other arguments. The first key is what it is routed by.
	Args []any
	// Script labels the time that a try takes.
	Script string
	// Runs tells the commands that the script runs, in capitals. It is asked only
	// while the user is denied some, and keeps the script from being begun then.
	Runs func() []string
	// Replicas is how many are waited for behind an answer, for at most Wait and no
	// longer than the context. An embedded store has none, and waits for none.
	Replicas int
	Wait     time.Duration

	// Tries is how often it was sent, Sent when that was last.
	Tries int
	Sent  time.Time
	// Reply is Redis's answer, Acked how many replicas have what was written: 0 too
	// where that could not be learned.
	Reply any
	Acked int
	// Failure is how the last try ended.
	Failure Failure
	// Again: Exchange found that another try makes sense.
	Again bool

	node  *node
	ask   bool   // the next try goes where ASK sent it
	loads uint64 // of scripts, before the last try
	turn  Turn   // its place among the calls before and behind it; nil = it has none
}

// key is what the try is routed by; a command that runs no script has none.
func (t *Try) key() string {
	if len(t.Args) > 3 {
		if n, _ := t.Args[2].(int); n > 0 {
			key, _ := t.Args[3].(string)
			return key
		}
	}
	return ""
}

// Route finds the node that the try goes to next and waits until that node may be
// used. It returns false where there is none: Failure says why. While the node is
// known to be down that is at once, unless the try is patient: it was under way when
// the outage came. Before the first probe has ended everyone waits.
func (s *Store) Route(ctx context.Context, t *Try, patient bool) bool {
	if t.ask {
		return true
	}
	var err error
	t.node, err = s.route(ctx, t.key(), patient)
	t.Failure = classify(err)
	return err == nil
}

// route is Route for a key. No call dials or asks for the way itself.
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

// Send sends once, to the node that Route found. Failure and Reply are set then.
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
	known := n.condition.Load().refusing()
	t.loads, t.Sent = n.loads.Load(), time.Now()
	cmd := sha1Call{redis.NewCmd(ctx, t.Args...)}
	f := n.judge(t.transmit(ctx, cmd))
	f.Known = known
	switch over := ctx.Err() != nil; {
	case f.Verdict == Ended && !over:
		f.Verdict = NotRun // a limit of the pool's own, not the caller's
	case f.at("write") && over:
		f.Verdict = Ended
	}
	n.of.tel.Script(ctx, t.Script, f.outcome(), time.Since(t.Sent))
	if f.Verdict == Answered {
		if t.turn != nil {
			t.turn.Answered()
		}
		t.Reply = cmd.Val()
		return f
	}
	// A reply that the caller's own deadline cut off says nothing about Redis.
	if ctx.Err() == nil && f.suspect() && (!known || !f.Refused()) {
		n.look()
	}
	return f
}

// transmit sends the command the way that this try needs.
func (t *Try) transmit(ctx context.Context, cmd sha1Call) error {
	switch {
	case t.ask:
		return t.node.asking(ctx, cmd)
	case t.waits():
		return t.node.sticky(ctx, cmd, t)
	case t.turn != nil:
		return t.node.sendInTurn(ctx, cmd, t.turn)
	}
	return t.node.send(ctx, cmd)
}

// waits tells whether replicas are waited for.
func (t *Try) waits() bool { return t.Replicas > 0 && t.node.of.topology != Embedded }

// await waits for the try's turn. What is not sent through the node's pipeline, and
// what failed once, goes when all calls ahead have ended.
func (t *Try) await(ctx context.Context) error {
	switch {
	case t.turn == nil:
		return nil
	case t.Tries > 0, t.ask, t.waits():
		return t.turn.Await(ctx, nil)
	default:
		return t.turn.Await(ctx, t.node)
	}
}

// Next is when another try makes sense.
type Next uint8

// The answers of Recover.
const (
	Later  Next = iota // after a pause
	Soon               // at once a few times, then after a pause: it may fail the same way for ever
	AtOnce             // at once
)

// Recover does what the failure of the last try asks for, so that the next one may
// fare better: it loads the scripts, follows a redirection, or has the cluster asked
// for its slots. Route comes next.
func (t *Try) Recover(ctx context.Context) Next {
	f, n := t.Failure, t.node
	ring := n.of.ring
	t.ask = false
	switch {
	case f.Why == whyNoScript:
		// Its own failure shows in the next try.
		_ = n.reload(ctx, t.loads)
		return Soon
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

// Settled waits until the probe has looked and, if it finds that the node refuses,
// until it does no more; false when ctx ended first. So a thousand calls that are
// refused at once ask once, and not each for itself.
func (t *Try) Settled(ctx context.Context) bool {
	n := t.node
	looked := n.round.Load().over
	if !n.condition.Load().refusing() {
		n.look()
		select {
		case <-looked:
		case <-n.ctx.Done(): // the probe looks no more
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
