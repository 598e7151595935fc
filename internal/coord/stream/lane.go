package stream

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// A group that delivers by key has a lane for each key, in Redis: part_lane.lua. Any sidecar that
// takes part in the group puts new messages into their lanes, in the order of the stream. A sidecar
// with capacity asks the limit of a lane's key for its first message, and delivers the message if
// the limit admits it. The next message of the lane follows when that one is acknowledged, so that
// the messages of a key are processed one at a time and in their order.
//
// The limit is asked for a message after the message before it was acknowledged. Of the messages of
// a key that are processed within one period, all but the first were therefore admitted within that
// period too: a site sees at most one message more than the limit in any period, however late
// messages are.

const (
	// maxParked bounds the messages in the lanes of a group. While the lanes have that many, no
	// new messages are read, so that messages of other keys wait too.
	maxParked = 100_000
	// laneHold is how long a sidecar reserves the first message of a lane for itself while it
	// asks the limit.
	laneHold = scriptTime
	// mostWait bounds how long a lane waits after its limit refused it: the rule may change, or
	// a pause may end, before the time that the limit returned.
	mostWait = 10 * time.Second
	// laneLook is the longest time between two runs of HeadsScript.
	laneLook = time.Second
)

// Limits are the rate limits that admit messages.
type Limits interface {
	// Acquire takes from the limit of a rule for a key.
	Acquire(ctx context.Context, c coord.Caller, p *api.RatelimitParams) (api.RatelimitResult, error)
	// Done gives back a permit under max_concurrent.
	Done(ctx context.Context, c coord.Caller, p *api.RatelimitGrantParams) (api.RatelimitDoneResult, error)
}

// checkLanes refuses settings with which no message could be delivered.
func (d *delivery) checkLanes(ctx context.Context, set settings) error {
	switch {
	case set.rule == "" && set.key == "":
		return nil
	case set.rule == "":
		return coord.Invalid("rule: it is missing; key needs the rule that admits the messages of a key, or leave both out")
	case set.key == "":
		return coord.Invalid("key: it is missing; rule needs the field of messages that has the key, such as host, or leave both out")
	case d.Limits == nil:
		return coord.Invalid("rule: this sidecar has no limits")
	}
	_, err := d.Limits.Acquire(ctx, coord.Caller{}, &api.RatelimitParams{Rule: set.rule, Key: set.key}) // a cost of 0 takes nothing
	var e *coord.Error
	if errors.As(err, &e) && (e.Code == api.NotFound || e.Code == api.InvalidArgument) {
		return err
	}
	return nil // any other error is taken for an outage of Redis, which the loop waits out
}

// wrongKey is the error of a subscription or fetch whose key is not the group's: by is the group's.
func wrongKey(n groupName, by, wanted string) error {
	switch {
	case by == "":
		return coord.Invalid("key: the group %s of the stream %s delivers in the order of the stream; leave rule and key out, "+
			"or name another group", n.group, n.stream)
	case wanted == "":
		return coord.Invalid("key: the group %s of the stream %s delivers by the field %s; name it as key, with a rule, or name another group", n.group, n.stream, by)
	default:
		return coord.Invalid("key: the group %s of the stream %s delivers by the field %s; name it in place of %s, "+
			"or name another group", n.group, n.stream, by, wanted)
	}
}

// readLanes delivers messages of lanes whenever there is capacity for them, until ctx ends.
func (g *group) readLanes(ctx context.Context) {
	again := pauses()
	for {
		n := g.wanted(ctx)
		if n == 0 {
			return
		}
		got, wait, err := g.admitted(ctx, n)
		g.keep(got)
		g.deliver()
		if errors.Is(err, redis.ErrNoGroup) {
			err = g.recreate(ctx, err)
		}
		switch {
		case err == nil:
			again.Reset()
			g.readable(byReading)
		case ctx.Err() != nil:
			return
		default:
			g.unreadable(byReading, err)
			wait = again.NextBackOff()
		}
		if !g.awaitLane(ctx, wait) {
			return
		}
	}
}

// awaitLane waits for that time, after which the next lane may be due, or until g.more signals that
// there may be more to deliver. It returns false if ctx has ended.
func (g *group) awaitLane(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.more:
	case <-ctx.Done():
		return false
	}
	return true
}

// awaitNews wakes readLanes when the stream has messages that are not in lanes yet.
func (g *group) awaitNews(ctx context.Context) {
	again := pauses()
	for ctx.Err() == nil {
		g.mu.Lock()
		last, full := g.last, g.full
		g.mu.Unlock()
		news, err := false, error(nil)
		if full {
			if !pause(ctx, laneLook) {
				return
			}
		} else {
			news, err = g.reader.Await(ctx, last, redis.MostBlock)
		}
		switch {
		case err != nil: // readLanes gets the same error, and logs it
			if !pause(ctx, again.NextBackOff()) {
				return
			}
		case news:
			again.Reset()
			signal(g.more)
			select {
			case <-g.parked:
			case <-ctx.Done():
			}
		}
	}
}

// admitted takes at most n messages that are first in their lanes and that their limits admit. wait
// is how long to wait before the next call; 0 = there may be more now.
func (g *group) admitted(ctx context.Context, n int) (got []*message, wait time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	run, err := lua.Attempt(limited, g.d.Runner, HeadsScript, HeadsIn{
		Keys: g.keys, GroupKeys: g.own, Group: g.group, Consumer: g.d.Consumer,
		Count: int64(n), Most: maxParked, Longest: api.MaxNameBytes, HoldMS: laneHold.Milliseconds(),
	}, lua.StoredReply{})
	if err != nil {
		return nil, 0, err
	}
	out := run.Value
	if out.Missing {
		return nil, 0, redis.ErrNoGroup
	}
	g.d.Telemetry.StreamMessages(ctx, "dead", out.Dead)
	g.d.Telemetry.StreamMessages(ctx, "trimmed", out.Trimmed)
	wait = laneLook
	if out.NextMS >= 0 {
		wait = min(wait, coord.Millis(out.NextMS))
	}
	ins, soonest, err := g.ask(limited, out.Heads)
	at := time.Now()
	outs, errs := lua.Batch(limited, g.d.Runner, AdmitScript, ins)
	for i := range outs {
		v := outs[i].Value
		switch {
		// If the script did not run, the lane is tried again after laneHold. If it ran and its reply was lost,
		// the message is claimed after its visibility timeout.
		case errs[i] != nil:
			err = errs[i]
		case v.Dead:
			g.d.Telemetry.StreamMessages(ctx, "dead", 1)
		case v.Admitted:
			got = append(got, &message{id: ins[i].ID, text: v.Message, attempt: v.Attempt, at: at})
		}
	}
	g.mu.Lock()
	if later(out.Last, g.last) {
		g.last = out.Last
	}
	g.full = out.Full
	g.mu.Unlock()
	signal(g.parked)
	if out.More || len(got) > 0 && len(out.Heads) == n {
		return got, 0, err
	}
	return got, min(wait, soonest) + spread(signalSpread), err
}

// ask asks the limits of lanes for their first messages, all at once. soonest is the time until
// the first of the refused lanes is due. If it returns an error, some limits could not be asked.
func (g *group) ask(ctx context.Context, heads []Head) (ins []AdmitIn, soonest time.Duration, _ error) {
	set := g.settingsNow()
	ins = make([]AdmitIn, len(heads))
	errs := make([]error, len(heads))
	var all sync.WaitGroup
	for i, h := range heads {
		ins[i] = AdmitIn{
			Keys: g.keys, GroupKeys: g.own, Group: g.group, Consumer: g.d.Consumer, Lane: h.Lane, ID: h.ID, MaxDeliveries: set.maxDeliveries,
		}
		all.Go(func() { ins[i].WaitMS, ins[i].Reason, errs[i] = g.d.decide(ctx, set.rule, h.Lane) })
	}
	all.Wait()
	soonest = laneLook
	for _, in := range ins {
		if in.WaitMS > 0 {
			soonest = min(soonest, coord.Millis(in.WaitMS))
		}
	}
	return ins, soonest, cmp.Or(errs...)
}

// decide asks the limit of a key for a message. With a reason the message is to be a dead letter,
// else it is to wait for waitMS; if both are zero, it is admitted.
func (d *delivery) decide(ctx context.Context, rule, key string) (waitMS int64, reason string, _ error) {
	r, err := d.Limits.Acquire(ctx, coord.Caller{}, &api.RatelimitParams{Rule: rule, Key: key, Cost: 1, FailMode: string(coord.FailClosed)})
	if err != nil { // the rule does not exist any more, or Redis does not answer
		return laneLook.Milliseconds(), "", err
	}
	if r.Held { // the permit is not needed: a lane delivers one message at a time anyway
		_, _ = d.Limits.Done(ctx, coord.Caller{}, &api.RatelimitGrantParams{Grant: r.Grant})
	}
	switch {
	case r.Allowed:
		return 0, "", nil
	case r.RetryAfterMS < 0:
		return 0, "refused for good by " + r.DeniedBy, nil
	default:
		return min(max(r.RetryAfterMS, 1), mostWait.Milliseconds()), "", nil
	}
}
