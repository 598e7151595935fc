package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// feed is the stream that is published to, and its groups.
const feed = "feed"

var feedGroups = []string{"one", "two"}

const (
	// visible is the visibility timeout, after which a message comes back that a consumer took and did not end.
	visible = 2 * time.Second
	// mostDeliveries is max_deliveries. Faults do not cause as many deliveries of a message that is not poison.
	mostDeliveries = 10
	// everyPoison is the number of messages of a producer of which one is poison.
	everyPoison = 40
	// patientAttempts is the number of attempts of a message that is not poison that may fail by chance.
	patientAttempts = 3
)

var errDrawn = errors.New("the seed says so")

var streamNoun = noun{
	roles: func(w *worker) []func(context.Context) { return []func(context.Context){w.publish, w.push, w.pull} },
	before: func(ctx context.Context, c *client.Client) error {
		return openGroups(ctx, c, feed, mostDeliveries, visible)
	},
	after: func(r *run) map[string]func(context.Context, *client.Client) error {
		return map[string]func(context.Context, *client.Client) error{
			"emptying " + feed: func(ctx context.Context, c *client.Client) error {
				return errors.Join(r.finish(ctx, c), r.history.leftIn(ctx, c, r.top, feed))
			},
		}
	},
	judge: func(r *run, losses int, intact time.Duration) []Violation {
		figures, found := r.messages(losses, intact).AtLeastOnce()
		r.t.Logf("chaos: messages of streams: %s", figures)
		return found
	},
	shows: func(h *History) map[string]int {
		n := map[string]int{"further attempts of messages": 0, "poison that was handled": 0, "messages that were published": len(h.Posted)}
		for _, group := range feedGroups {
			n["acks of group "+group] = 0
		}
		for _, x := range h.Handled {
			if x.Outcome == Acked {
				n["acks of group "+x.Group]++
			}
			if x.Attempt > 1 {
				n["further attempts of messages"]++
			}
			if IsPoison(x.ID) {
				n["poison that was handled"]++
			}
		}
		return n
	},
}

// messages returns the history of the run's messages, to which the rules are applied.
func (r *run) messages(losses int, intact time.Duration) *Messages {
	h := r.history
	m := &Messages{
		Groups: feedGroups, MaxDeliveries: mostDeliveries, Posted: h.Posted, Handled: h.Handled, Logs: h.Logs, Letters: h.Letters,
		Cuts: h.Cuts, Lossy: Span{Never, Never},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Concat(r.harm, r.stalls.spans(visible/10)) {
		// A sidecar that lost its connection gets a new one a moment after the fault has ended.
		m.Harm = append(m.Harm, Span{s.From, s.Till + visible})
	}
	if losses > 0 {
		m.Lossy = Span{intact, r.settledAt + r.top.Overlap}
		for _, s := range r.switches() {
			m.Lossy.Till = max(m.Lossy.Till, s.Sub(h.start)+r.top.Overlap)
		}
		m.Harm = append(m.Harm, m.Lossy)
	}
	return m
}

// openGroups makes the groups before anything can be lost.
func openGroups(ctx context.Context, c *client.Client, stream string, deliveries int64, visibility time.Duration) error {
	for _, group := range feedGroups {
		if _, err := c.StreamFetch(ctx, fetching(stream, group, 1, deliveries, visibility)); err != nil {
			return err
		}
	}
	return nil
}

func fetching(stream, group string, count, deliveries int64, visibility time.Duration) api.StreamFetchParams {
	return api.StreamFetchParams{
		Stream: stream, Group: group, Count: count, MaxDeliveries: deliveries, VisibilityMS: visibility.Milliseconds(), Bind: api.BindTTL,
	}
}

// bodyOf returns the body of a message with this id. idIn finds the id even if the body is only a part of a text.
func bodyOf(id string) []byte { return []byte("<" + id + ">") }

var bodies = regexp.MustCompile(`<([^<>]+)>`)

func idIn(body []byte) string {
	if found := bodies.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return fmt.Sprintf("no id: %q", body)
}

// publish adds the next of this worker's messages, at once or later, and some twice.
func (w *worker) publish(ctx context.Context) {
	w.entries++
	x := Posted{Stream: feed, ID: fmt.Sprintf("w%02d-%05d", w.id, w.entries), Call: w.history.Now()}
	if w.entries%everyPoison == 1 { // not drawn, so that there is some even among few messages
		x.ID += poisonous
	}
	p := api.StreamPublishParams{Stream: feed, Body: bodyOf(x.ID)}
	if w.chance(20) {
		p.DelayMS = 1 + w.rnd.Int64N(2000)
	}
	times := 1
	if w.chance(20) {
		p.DedupeID, times = x.ID, 2
	}
	for range times {
		_, known := w.settle(ctx, func(ctx context.Context, s *session) error {
			_, err := s.StreamPublish(ctx, p)
			return err
		})
		if known && x.Return == 0 {
			x.Return = w.history.Now()
		}
	}
	if x.Return == 0 {
		x.Return = Never
	}
	w.history.add(func() { w.history.Posted = append(w.history.Posted, x) })
}

// hand is one call of a consumer for messages: its worker, session, group and binding.
type hand struct {
	w           *worker
	s           *session
	group, bind string
	call        time.Duration

	mu  sync.Mutex // guards rnd
	rnd *rand.Rand
}

// hand returns a hand for a call that is made now.
func (w *worker) hand(s *session, bind string) *hand {
	return &hand{
		w: w, s: s, group: w.one(feedGroups), bind: bind, call: w.history.Now(),
		rnd: rand.New(rand.NewPCG(w.rnd.Uint64(), w.rnd.Uint64())),
	}
}

func (x *hand) draw(n int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rnd.IntN(n)
}

// begin begins the handling of a message, and works on it for a moment.
func (x *hand) begin(m api.StreamMessage) Handling {
	h := Handling{
		Client: x.s.name, Stream: m.Stream, Group: m.Group, ID: idIn(m.Body), Message: m.ID, Attempt: m.Attempt,
		Call: x.call, Begin: x.w.history.Now(), EndCall: Never, EndReturn: Never,
	}
	if m.Group != x.group || m.Stream != feed {
		x.w.strange("stream", fmt.Sprintf("%s was sent to a consumer of group %s", h, x.group))
	}
	select {
	case <-time.After(time.Duration(x.draw(20)) * time.Millisecond):
	case <-x.w.over:
	}
	return h
}

// end decides how the consumer ends a message: by an ack, a nack, or neither.
func (x *hand) end(h Handling) Kind {
	if IsPoison(h.ID) {
		return Nack
	}
	switch n := x.draw(100); {
	case h.Attempt > patientAttempts || n >= 12:
		return Ack
	case n >= 4:
		return Nack
	default:
		return ""
	}
}

// delay draws the delay before the next attempt.
func (x *hand) delay() time.Duration { return time.Duration(1+x.draw(200)) * time.Millisecond }

// did records a handling. Without an answer its outcome is Unknown.
func (x *hand) did(h Handling) {
	if h.End != "" && h.EndReturn == Never {
		h.Outcome = Unknown
	}
	h.Cut = x.s.ended() < Never
	x.w.history.add(func() { x.w.history.Handled = append(x.w.history.Handled, h) })
}

// cut records that a consumer left, or was killed, between since and now.
func (w *worker) cut(since time.Duration) {
	w.history.add(func() { w.history.Cuts = append(w.history.Cuts, Span{since, w.history.Now()}) })
}

// push subscribes to the messages of a group for a while, and handles two at a time.
func (w *worker) push(ctx context.Context) {
	s, err := w.connect(ctx)
	if err != nil {
		return
	}
	x := w.hand(s, w.bind())
	ctx, cancel := context.WithTimeout(ctx, time.Duration(300+w.rnd.IntN(1200))*time.Millisecond)
	defer cancel()
	leaving := make(chan time.Duration, 1)
	stop := context.AfterFunc(ctx, func() { leaving <- w.history.Now() })
	o := client.StreamOptions{Concurrency: 2, Prefetch: 4, MaxDeliveries: mostDeliveries, Visibility: visible, Bind: x.bind}
	err = s.StreamSubscribe(ctx, feed, x.group, o, x.pushed)
	if stop() {
		leaving <- s.ended()
	}
	w.cut(min(<-leaving, w.history.Now()))
	w.suspect(err)
}

// pushed handles a message of a subscription. It acknowledges the message itself, or returns and leaves that to the
// client.
func (x *hand) pushed(ctx context.Context, m api.StreamMessage) error {
	h := x.begin(m)
	defer func() { x.did(h) }()
	h.End, h.EndCall = x.end(h), x.w.history.Now()
	switch h.End {
	case Nack:
		return &client.NackError{Err: errDrawn, Delay: x.delay()}
	case Ack:
		if x.draw(2) == 0 {
			return nil // then the client acknowledges it
		}
	default:
		h.EndCall = Never
		x.w.kill()
		return errDrawn
	}
	for ctx.Err() == nil {
		yes, err := x.s.StreamAck(ctx, api.StreamMessageParams{Stream: m.Stream, Group: m.Group, ID: m.ID})
		if err == nil {
			h.EndReturn, h.Outcome = x.w.history.Now(), acked(yes)
			return nil
		}
		x.w.suspect(err)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func acked(yes bool) Outcome {
	if yes {
		return Acked
	}
	return Expired
}

// pull fetches some messages of a group. If there are none, it may wait for them.
func (w *worker) pull(ctx context.Context) {
	s, err := w.connect(ctx)
	if err != nil {
		return
	}
	x := w.hand(s, w.bind())
	p := fetching(feed, x.group, 1+w.rnd.Int64N(8), mostDeliveries, visible)
	p.Bind, p.WaitMS = x.bind, w.waitMS()
	messages, err := s.StreamFetch(context.WithoutCancel(ctx), p)
	if err != nil {
		w.suspect(err)
		w.cut(x.call) // it may have been sent messages
		return
	}
	for _, m := range messages {
		if s.ended() < Never {
			return
		}
		x.pulled(ctx, m)
	}
}

// pulled handles a fetched message, and ends it on the worker's current session, which may be a later one. A message
// that is not ended comes back when the session to which it is bound ends, or after its visibility timeout.
func (x *hand) pulled(ctx context.Context, m api.StreamMessage) {
	h := x.begin(m)
	defer func() { x.did(h) }()
	h.End, h.EndCall = x.end(h), x.w.history.Now()
	if h.End == "" {
		h.EndCall = Never
		if x.bind == api.BindSession {
			x.w.kill()
		}
		return
	}
	_, known := x.w.settle(ctx, func(ctx context.Context, s *session) (err error) {
		h.Outcome, err = ending(ctx, s.Client, m, h.End, x.delay())
		return err
	})
	if known {
		h.EndReturn = x.w.history.Now()
	}
}

// ending sends the ack or the nack of a message.
func ending(ctx context.Context, c *client.Client, m api.StreamMessage, by Kind, delay time.Duration) (Outcome, error) {
	if by == Ack {
		yes, err := c.StreamAck(ctx, api.StreamMessageParams{Stream: m.Stream, Group: m.Group, ID: m.ID})
		return acked(yes), err
	}
	r, err := c.StreamNack(ctx, api.StreamNackParams{
		Stream: m.Stream, Group: m.Group, ID: m.ID, DelayMS: delay.Milliseconds(), Reason: errDrawn.Error(),
	})
	if !r.Nacked {
		return Expired, err
	}
	return Nacked, err
}

// finish handles all messages that are left.
func (r *run) finish(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*visible+patience)
	defer cancel()
	return until(ctx, func() error {
		for {
			n := 0
			for _, group := range feedGroups {
				some, err := r.finishSome(ctx, c, group)
				if err != nil {
					return err
				}
				n += some
			}
			if n == 0 {
				return finished(ctx, c, feed)
			}
		}
	})
}

// finishSome handles some messages of a group, and returns how many.
func (r *run) finishSome(ctx context.Context, c *client.Client, group string) (int, error) {
	now := r.history.Now
	call := now()
	got, err := c.StreamFetch(ctx, fetching(feed, group, 100, mostDeliveries, visible))
	if err != nil {
		return 0, err
	}
	for _, m := range got {
		h := Handling{
			Client: "settled", Stream: m.Stream, Group: group, ID: idIn(m.Body), Message: m.ID, Attempt: m.Attempt, Call: call, Begin: now(),
			End: Ack, EndReturn: Never, Outcome: Unknown,
		}
		if IsPoison(h.ID) {
			h.End = Nack
		}
		h.EndCall = now()
		o, failed := ending(ctx, c, m, h.End, time.Millisecond)
		if failed == nil {
			h.Outcome, h.EndReturn = o, now()
		}
		err = errors.Join(err, failed)
		r.history.add(func() { r.history.Handled = append(r.history.Handled, h) })
	}
	return len(got), err
}

// finished returns an error while there is something left to do for a group of a stream.
func finished(ctx context.Context, c *client.Client, stream string) error {
	s, err := c.StreamStats(ctx, api.StreamStatsParams{Stream: stream})
	if err == nil && s.Delayed > 0 {
		return fmt.Errorf("%s: %d messages are not due", stream, s.Delayed)
	}
	for _, g := range s.Groups {
		if g.Lag != 0 || g.Pending > 0 {
			return fmt.Errorf("%s, group %s: %d messages have not been delivered, and %d not acknowledged", stream, g.Group, g.Lag, g.Pending)
		}
	}
	return err
}

// leftIn records the messages and the dead letters of a stream at the end.
func (h *History) leftIn(ctx context.Context, c *client.Client, top Topology, stream string) error {
	entries, err := top.Entries(ctx, stream)
	if err != nil {
		return err
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = idIn([]byte(e))
	}
	var letters []Letter
	for p := (api.StreamDeadParams{Stream: stream, Count: 256}); ; {
		page, err := c.StreamDead(ctx, p)
		if err != nil {
			return err
		}
		for _, l := range page.Letters {
			letters = append(letters, Letter{Stream: stream, Group: l.Group, ID: idIn(l.Body), Attempts: l.Attempts})
		}
		if p.After = page.Next; p.After == "" {
			break
		}
	}
	h.add(func() {
		h.Logs[stream] = ids
		h.Letters = append(h.Letters, letters...)
	})
	return nil
}
