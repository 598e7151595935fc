package clienttest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// stream has the messages of a stream and the state of its groups.
type stream struct {
	name    string
	log     []*message
	lastMS  int64 // the milliseconds of the newest id, and lastSeq its number
	lastSeq int64
	delayed []*delayedMessage // sorted by when they are due
	dedupe  map[string]known
	groups  map[string]*group
	dead    []*letter
	trimmed int64
}

type message struct {
	number      uint64 // its position in the order of the log
	id          string
	body        []byte
	fields      map[string]string
	traceparent string
	at          time.Time
	only        string // the only group that it is for; empty = all
}

type delayedMessage struct {
	*message
	at time.Time
}

// known is the message that was published with a dedupe id, and until when the id counts.
type known struct {
	id    string
	until time.Time
}

type letter struct {
	id       string
	m        *message
	group    string
	attempts int64
	reason   string
	at       time.Time
}

// group is the state of a group: its messages and how they are delivered.
type group struct {
	name       string
	waiting    []*waitingMessage // in the order of the log
	last       string            // the id of the latest message that it was given
	subs       []*subscription
	next       int // the index of the subscription whose turn it is
	deliveries int64
	visible    time.Duration
	rule, key  string
}

// waitingMessage is a message of a group that is not delivered at present.
type waitingMessage struct {
	m       *message
	attempt int64     // how often it was delivered
	at      time.Time // not to be delivered before; zero = now
}

// delivery is a message that a consumer was given and has not acknowledged.
type delivery struct {
	m       *message
	stream  *stream
	group   *group
	attempt int64
	sub     *subscription // nil = it was fetched
}

type subscription struct {
	id       string
	cn       *conn
	prefetch int64
	has      int64
	bind     string
}

func streamMethods(t map[string]method) {
	define(t, api.StreamPublish, func(c *call, p *api.StreamPublishParams) (api.StreamPublishResult, error) {
		r := c.publish(p.Stream, p.MaxLen, api.StreamNewMessage{
			Body: p.Body, Fields: p.Fields, DedupeID: p.DedupeID, DedupeMS: p.DedupeMS, DelayMS: p.DelayMS,
		})
		return api.StreamPublishResult{Published: r.Published, ID: r.ID, DueAtMS: r.DueAtMS}, nil
	})
	define(t, api.StreamPublishMany, func(c *call, p *api.StreamPublishManyParams) (api.StreamPublishManyResult, error) {
		var r api.StreamPublishManyResult
		if len(p.Messages) > 256 {
			return r, invalid("messages: give 1 to 256")
		}
		for _, m := range p.Messages {
			r.Results = append(r.Results, c.publish(p.Stream, p.MaxLen, m))
		}
		return r, nil
	})
	define(t, api.StreamSubscribe, streamSubscribe)
	define(t, api.StreamUnsubscribe, func(c *call, p *api.StreamUnsubscribeParams) (api.StreamUnsubscribeResult, error) {
		return api.StreamUnsubscribeResult{Unsubscribed: c.unsubscribe(p.Subscription)}, nil
	})
	define(t, api.StreamFetch, streamFetch)
	define(t, api.StreamAck, func(c *call, p *api.StreamMessageParams) (api.StreamAckResult, error) {
		s := c.s
		if l := s.delivered(p.Stream, p.Group, p.ID); l != nil {
			s.settle(l)
			return api.StreamAckResult{Acked: true}, nil
		}
		// The delivery was lost, but its consumer has processed the message: do not deliver it again.
		g := s.stream(p.Stream).groups[p.Group]
		if g == nil {
			return api.StreamAckResult{}, nil
		}
		before := len(g.waiting)
		g.waiting = slices.DeleteFunc(g.waiting, func(w *waitingMessage) bool { return w.m.id == p.ID && w.attempt > 0 })
		return api.StreamAckResult{Acked: len(g.waiting) < before}, nil
	})
	define(t, api.StreamNack, streamNack)
	define(t, api.StreamExtend, func(c *call, p *api.StreamMessageParams) (api.StreamExtendResult, error) {
		l := c.s.delivered(p.Stream, p.Group, p.ID)
		if l == nil {
			return api.StreamExtendResult{Reason: "not_pending"}, nil
		}
		c.s.renew(l, l.ttl)
		return api.StreamExtendResult{Extended: true, Reason: "extended"}, nil
	})
	define(t, api.StreamStats, func(c *call, p *api.StreamStatsParams) (api.StreamStatsResult, error) {
		st := c.s.stream(p.Stream)
		r := api.StreamStatsResult{
			Length: int64(len(st.log)), Delayed: int64(len(st.delayed)), Dead: int64(len(st.dead)), Trimmed: st.trimmed, Groups: []api.StreamGroup{},
		}
		for _, name := range slices.Sorted(maps.Keys(st.groups)) {
			if p.Group == "" || p.Group == name {
				r.Groups = append(r.Groups, c.s.groupStats(st, st.groups[name]))
			}
		}
		return r, nil
	})
	define(t, api.StreamGroups, func(c *call, p *api.StreamParams) (api.StreamGroupsResult, error) {
		st, r := c.s.stream(p.Stream), api.StreamGroupsResult{Groups: []api.StreamGroupDetail{}}
		for _, name := range slices.Sorted(maps.Keys(st.groups)) {
			pending := c.s.groupStats(st, st.groups[name]).Pending
			detail := api.StreamGroupDetail{Group: name, Consumers: []api.StreamConsumer{}}
			if st.groups[name].last != "" {
				detail.Consumers = append(detail.Consumers, api.StreamConsumer{Name: consumer, Pending: pending})
			}
			r.Groups = append(r.Groups, detail)
		}
		return r, nil
	})
	define(t, api.StreamRead, streamRead)
	define(t, api.StreamDead, func(c *call, p *api.StreamDeadParams) (api.StreamDeadResult, error) {
		st, r := c.s.stream(p.Stream), api.StreamDeadResult{Letters: []api.StreamDeadLetter{}}
		after := p.After == ""
		for _, d := range st.dead {
			switch {
			case !after:
				after = d.id == p.After
			case int64(len(r.Letters)) == p.Count:
				r.Next = r.Letters[len(r.Letters)-1].ID
				return r, nil
			default:
				r.Letters = append(r.Letters, api.StreamDeadLetter{
					ID: d.id, MessageID: d.m.id, Group: d.group, Attempts: d.attempts, Reason: d.reason, DeadAtMS: d.at.UnixMilli(),
					Body: d.m.body, Fields: d.m.fields, Traceparent: d.m.traceparent,
				})
			}
		}
		return r, nil
	})
	define(t, api.StreamRedrive, streamRedrive)
	define(t, api.StreamTrim, streamTrim)
}

// consumer is the name of the only pod.
const consumer = "clienttest"

func (s *Sidecar) stream(name string) *stream {
	if s.streams[name] == nil {
		s.streams[name] = &stream{name: name, dedupe: make(map[string]known), groups: make(map[string]*group)}
	}
	return s.streams[name]
}

func (c *call) publish(name string, maxLen int64, m api.StreamNewMessage) api.StreamPublished {
	s := c.s
	st, now := s.stream(name), s.now()
	if k, ok := st.dedupe[m.DedupeID]; m.DedupeID != "" && ok && now.Before(k.until) {
		return api.StreamPublished{ID: k.id}
	}
	traceparent, _ := c.given[api.MetaTraceparent].(string)
	msg := &message{body: m.Body, fields: m.Fields, traceparent: traceparent}
	r := api.StreamPublished{Published: true}
	if m.DelayMS > 0 {
		due := now.Add(ms(m.DelayMS))
		st.delayed = append(st.delayed, &delayedMessage{msg, due})
		slices.SortStableFunc(st.delayed, func(a, b *delayedMessage) int { return a.at.Compare(b.at) })
		r.DueAtMS = due.UnixMilli()
	} else {
		s.add(st, msg)
		r.ID = msg.id
	}
	if m.DedupeID != "" {
		st.dedupe[m.DedupeID] = known{r.ID, now.Add(ms(cmp.Or(m.DedupeMS, 300_000)))}
	}
	if over := int64(len(st.log)) - maxLen; maxLen > 0 && over > 0 {
		s.trim(st, st.log[:over])
	}
	return r
}

// newID returns a new id for a message in the form of Redis; it never returns the same one twice.
func (s *Sidecar) newID(st *stream) string {
	at := s.now().UnixMilli()
	if at > st.lastMS {
		st.lastMS, st.lastSeq = at, -1
	}
	st.lastSeq++
	return fmt.Sprintf("%d-%d", st.lastMS, st.lastSeq)
}

// add appends a message to the stream.
func (s *Sidecar) add(st *stream, m *message) {
	s.fences++
	m.number, m.at, m.id = s.fences, s.now(), s.newID(st)
	st.log = append(st.log, m)
	for _, g := range st.groups {
		if m.only == "" || m.only == g.name {
			g.waiting = append(g.waiting, &waitingMessage{m: m})
		}
	}
}

// ripen adds delayed messages that are due, and ends due delays of waiting messages. It reports
// whether there were any.
func (s *Sidecar) ripen(st *stream) (changed bool) {
	now := s.now()
	for len(st.delayed) > 0 && !now.Before(st.delayed[0].at) {
		m := st.delayed[0].message
		st.delayed = st.delayed[1:]
		s.add(st, m)
		changed = true
	}
	for _, g := range st.groups {
		for _, w := range g.waiting {
			if !w.at.IsZero() && !now.Before(w.at) {
				w.at = time.Time{}
				changed = true
			}
		}
	}
	return changed
}

// group returns a group, and creates it if there is none.
func (s *Sidecar) group(st *stream, name, start string) (_ *group, created bool) {
	if g := st.groups[name]; g != nil {
		return g, false
	}
	g := &group{name: name}
	st.groups[name] = g
	for _, m := range st.log {
		if start != api.StartNew && m.only == "" {
			g.waiting = append(g.waiting, &waitingMessage{m: m})
		}
	}
	return g, true
}

func (g *group) set(deliveries, visibilityMS int64, rule, key string) {
	g.deliveries, g.visible, g.rule, g.key = deliveries, ms(visibilityMS), rule, key
}

func (s *Sidecar) checkLanes(rule, key string) error {
	switch {
	case (rule == "") != (key == ""):
		return invalid("key: give rule and key together")
	case rule != "" && s.rules[rule] == nil:
		return &api.Error{Code: api.NotFound, Message: fmt.Sprintf("rule %q: there is no such rule", rule)}
	}
	return nil
}

func streamSubscribe(c *call, p *api.StreamSubscribeParams) (api.StreamSubscribeResult, error) {
	s := c.s
	if err := s.checkLanes(p.Rule, p.Key); err != nil {
		return api.StreamSubscribeResult{}, err
	}
	g, created := s.group(s.stream(p.Stream), p.Group, p.Start)
	g.set(p.MaxDeliveries, p.VisibilityMS, p.Rule, p.Key)
	c.cn.subscribe++
	sub := &subscription{id: fmt.Sprintf("%s/%d", c.cn.id, c.cn.subscribe), cn: c.cn, prefetch: p.Prefetch, bind: p.Bind}
	g.subs = append(g.subs, sub)
	c.cn.subs[sub.id] = func() { g.subs = slices.DeleteFunc(g.subs, func(x *subscription) bool { return x == sub }) }
	return api.StreamSubscribeResult{Subscription: sub.id, Created: created}, nil
}

// unsubscribe ends a subscription of the caller's connection. The connection keeps the messages that
// it was given.
func (c *call) unsubscribe(id string) bool {
	end, ok := c.cn.subs[id]
	if ok {
		end()
		delete(c.cn.subs, id)
	}
	return ok
}

// pending returns the leases of the deliveries of a group.
func (s *Sidecar) pending(st *stream, g *group) []*lease {
	return slices.DeleteFunc(s.of("stream", st.name), func(l *lease) bool { return l.delivery.group != g })
}

// delivered returns the lease of a delivery, nil if there is none.
func (s *Sidecar) delivered(stream, group, id string) *lease {
	return s.leases["stream\x00"+stream+"\x00"+group+"\x00"+id]
}

// settle ends a delivery without delivering the message again.
func (s *Sidecar) settle(l *lease) {
	l.freed = nil
	if l.delivery.sub != nil {
		l.delivery.sub.has--
	}
	s.drop(l, "released")
}

// nextMessage removes the first message that may be delivered now from those that wait, and returns it.
func (s *Sidecar) nextMessage(st *stream, g *group) *waitingMessage {
	taken := make(map[string]bool) // keys that have a delivery, or an earlier message in this loop
	if g.key != "" {
		for _, l := range s.pending(st, g) {
			taken[l.delivery.m.fields[g.key]] = true
		}
	}
	for i := 0; i < len(g.waiting); i++ {
		w := g.waiting[i]
		if g.key != "" {
			key, ok := w.m.fields[g.key]
			if !ok {
				g.waiting = slices.Delete(g.waiting, i, i+1)
				i--
				s.bury(st, g, w.m, w.attempt, "it has no field "+g.key)
				continue
			}
			before := taken[key]
			taken[key] = true
			if before || !w.at.IsZero() || !s.admits(g, w, key) {
				continue
			}
		} else if !w.at.IsZero() {
			continue
		}
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return w
	}
	return nil
}

// admits charges 1 to the rule of a group that delivers by key. If the rule refuses it, admits sets the
// time of the message to when the rule may admit it.
func (s *Sidecar) admits(g *group, w *waitingMessage, key string) bool {
	l, err := s.limitOf(&api.RatelimitParams{Rule: g.rule, Key: key})
	if err != nil {
		return false // the rule was deleted
	}
	r := s.decide(l, 1)
	if !r.Allowed {
		if r.RetryAfterMS > 0 {
			w.at = s.now().Add(ms(r.RetryAfterMS))
		}
		return false
	}
	for i, b := range l.rule.Limits {
		s.bucket(l.band(i)).take(l.rule.Algorithm, b, 1, s.now())
	}
	return true
}

// deliver gives a message to a connection.
func (s *Sidecar) deliver(st *stream, g *group, w *waitingMessage, cn *conn, sub *subscription, bind string) api.StreamMessage {
	w.attempt++
	g.last = w.m.id
	l := s.grantTo(cn, "stream", st.name, st.name+"\x00"+g.name+"\x00"+w.m.id, bind, g.visible)
	l.delivery = &delivery{m: w.m, stream: st, group: g, attempt: w.attempt, sub: sub}
	l.freed = func() { s.returned(l.delivery, 0, "max_deliveries") }
	r := api.StreamMessage{
		Stream: st.name, Group: g.name, ID: w.m.id, Body: w.m.body, Fields: w.m.fields, Attempt: w.attempt,
		PublishedAtMS: w.m.at.UnixMilli(), Traceparent: w.m.traceparent,
	}
	if sub != nil {
		sub.has++
		r.Subscription = sub.id
	}
	return r
}

// returned puts a message back to be delivered again, or makes it a dead letter after its last attempt.
func (s *Sidecar) returned(d *delivery, after time.Duration, reason string) (dead bool) {
	if d.sub != nil {
		d.sub.has--
		d.sub = nil
	}
	if d.attempt >= d.group.deliveries {
		s.bury(d.stream, d.group, d.m, d.attempt, reason)
		return true
	}
	w := &waitingMessage{m: d.m, attempt: d.attempt}
	if after > 0 {
		w.at = s.now().Add(after)
	}
	g := d.group
	at, _ := slices.BinarySearchFunc(g.waiting, d.m.number, func(w *waitingMessage, n uint64) int { return cmp.Compare(w.m.number, n) })
	g.waiting = slices.Insert(g.waiting, at, w)
	return false
}

func (s *Sidecar) bury(st *stream, g *group, m *message, attempts int64, reason string) {
	s.fences++
	st.dead = append(st.dead, &letter{
		id: fmt.Sprintf("%d-%d", s.now().UnixMilli(), s.fences), m: m, group: g.name, attempts: attempts, reason: reason, at: s.now(),
	})
}

// pump sends waiting messages to subscriptions that have fewer than their prefetch.
func (s *Sidecar) pump() {
	for _, name := range slices.Sorted(maps.Keys(s.streams)) {
		st := s.streams[name]
		for _, g := range st.groups {
			for s.pumpOne(st, g) {
			}
		}
	}
}

func (s *Sidecar) pumpOne(st *stream, g *group) bool {
	for i := range g.subs {
		sub := g.subs[(g.next+i)%len(g.subs)]
		if sub.has >= sub.prefetch {
			continue
		}
		w := s.nextMessage(st, g)
		if w == nil {
			return false
		}
		g.next = (g.next + i + 1) % len(g.subs)
		sub.cn.notify(api.StreamMessageEvent.Name, s.deliver(st, g, w, sub.cn, sub, sub.bind))
		return true
	}
	return false
}

func streamFetch(c *call, p *api.StreamFetchParams) (api.StreamFetchResult, error) {
	s := c.s
	r := api.StreamFetchResult{Messages: []api.StreamMessage{}}
	if err := s.checkLanes(p.Rule, p.Key); err != nil {
		return r, err
	}
	st := s.stream(p.Stream)
	g, _ := s.group(st, p.Group, p.Start)
	g.set(p.MaxDeliveries, p.VisibilityMS, p.Rule, p.Key)
	_, err := c.stand("stream:"+p.Stream+"\x00"+p.Group, p.WaitMS, func(turn bool) (bool, time.Duration) {
		for turn && int64(len(r.Messages)) < p.Count {
			w := s.nextMessage(st, g)
			if w == nil {
				break
			}
			r.Messages = append(r.Messages, s.deliver(st, g, w, c.cn, nil, p.Bind))
			c.held = true
		}
		return len(r.Messages) > 0, time.Hour
	})
	return r, err
}

func streamNack(c *call, p *api.StreamNackParams) (api.StreamNackResult, error) {
	s := c.s
	l := s.delivered(p.Stream, p.Group, p.ID)
	if l == nil {
		return api.StreamNackResult{}, nil
	}
	d := *l.delivery
	s.settle(l)
	d.sub = nil
	after := ms(p.DelayMS)
	if p.DelayMS < 0 {
		after = min(time.Second<<min(d.attempt-1, 20), 5*time.Minute)
	}
	if p.Dead {
		s.bury(d.stream, d.group, d.m, d.attempt, cmp.Or(p.Reason, "nack"))
		return api.StreamNackResult{Nacked: true, Dead: true}, nil
	}
	if s.returned(&d, after, cmp.Or(p.Reason, "max_deliveries")) {
		return api.StreamNackResult{Nacked: true, Dead: true}, nil
	}
	return api.StreamNackResult{Nacked: true, DelayMS: after.Milliseconds()}, nil
}

func (s *Sidecar) groupStats(st *stream, g *group) api.StreamGroup {
	r := api.StreamGroup{Group: g.name, LastDeliveredID: cmp.Or(g.last, "0-0")}
	if g.last != "" {
		r.Consumers = 1
	}
	for _, w := range g.waiting {
		switch {
		case w.attempt > 0:
			r.Pending++
			r.Retrying++
		case g.key != "" && !w.at.IsZero():
			r.Parked++
		default:
			r.Lag++
		}
	}
	for _, l := range s.pending(st, g) {
		r.Pending++
		r.OldestPendingMS = max(r.OldestPendingMS, millis(s.now().Sub(l.delivery.m.at)))
	}
	return r
}

func streamRead(c *call, p *api.StreamReadParams) (api.StreamReadResult, error) {
	st, r := c.s.stream(p.Stream), api.StreamReadResult{Messages: []api.StreamEntry{}, Next: cmp.Or(p.After, "0-0")}
	if p.After == "" && p.Start == api.StartNew {
		if n := len(st.log); n > 0 {
			r.Next = st.log[n-1].id
		}
		return r, nil
	}
	for _, m := range st.log {
		if p.After != "" && !later(m.id, p.After) {
			continue
		}
		if int64(len(r.Messages)) == p.Count {
			r.More = true
			break
		}
		r.Messages = append(r.Messages, api.StreamEntry{
			ID: m.id, Body: m.body, Fields: m.fields, Group: m.only, PublishedAtMS: m.at.UnixMilli(), Traceparent: m.traceparent,
		})
		r.Next = m.id
	}
	return r, nil
}

// later reports whether an id is greater than another one.
func later(id, than string) bool {
	var a, b [2]int64
	_, _ = fmt.Sscanf(id, "%d-%d", &a[0], &a[1]) // a text that is not an id counts as 0-0
	_, _ = fmt.Sscanf(than, "%d-%d", &b[0], &b[1])
	return slices.Compare(a[:], b[:]) > 0
}

func streamRedrive(c *call, p *api.StreamRedriveParams) (api.StreamRedriveResult, error) {
	if (len(p.IDs) > 0) == (p.Count > 0) {
		return api.StreamRedriveResult{}, invalid("ids: give ids or count")
	}
	st, r := c.s.stream(p.Stream), api.StreamRedriveResult{}
	var kept []*letter
	for _, d := range st.dead {
		if !slices.Contains(p.IDs, d.id) && r.Redriven >= p.Count {
			kept = append(kept, d)
			continue
		}
		r.Redriven++
		c.s.add(st, &message{body: d.m.body, fields: d.m.fields, traceparent: d.m.traceparent, only: d.group})
	}
	st.dead = kept
	r.Left = int64(len(kept))
	return r, nil
}

func streamTrim(c *call, p *api.StreamTrimParams) (api.StreamTrimResult, error) {
	given := 0
	for _, is := range []bool{p.MaxLen != nil, p.OlderMS != nil, len(p.IDs) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return api.StreamTrimResult{}, invalid("maxlen: give exactly one of maxlen, older_ms and ids")
	}
	st, now := c.s.stream(p.Stream), c.s.now()
	goes := func(i, n int, id string, at time.Time) bool {
		switch {
		case p.MaxLen != nil:
			return int64(n-i) > *p.MaxLen
		case p.OlderMS != nil:
			return now.Sub(at) > ms(*p.OlderMS)
		default:
			return slices.Contains(p.IDs, id)
		}
	}
	if p.Dead {
		var kept []*letter
		for i, d := range st.dead {
			if !goes(i, len(st.dead), d.id, d.at) {
				kept = append(kept, d)
			}
		}
		r := api.StreamTrimResult{Deleted: int64(len(st.dead) - len(kept)), Left: int64(len(kept))}
		st.dead = kept
		return r, nil
	}
	var gone []*message
	for i, m := range st.log {
		if goes(i, len(st.log), m.id, m.at) {
			gone = append(gone, m)
		}
	}
	c.s.trim(st, gone)
	return api.StreamTrimResult{Deleted: int64(len(gone)), Left: int64(len(st.log))}, nil
}

// trim deletes messages. A consumer that was given one and has not acknowledged it loses the delivery.
func (s *Sidecar) trim(st *stream, gone []*message) {
	gone = slices.Clone(gone)
	st.log = slices.DeleteFunc(st.log, func(m *message) bool { return slices.Contains(gone, m) })
	for _, g := range st.groups {
		g.waiting = slices.DeleteFunc(g.waiting, func(w *waitingMessage) bool {
			is := slices.Contains(gone, w.m)
			if is && w.attempt > 0 {
				st.trimmed++
			}
			return is
		})
		for _, l := range s.pending(st, g) {
			if slices.Contains(gone, l.delivery.m) {
				st.trimmed++
				if l.delivery.sub != nil {
					l.delivery.sub.has--
				}
				l.freed = nil
				s.lose(l, "expired")
			}
		}
	}
}
