package pubsub

import (
	"context"
	"fmt"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// message is sent to all subscriptions of its topic. It must not be changed, since they share it.
type message struct {
	pattern, channel string
	body             []byte
}

// itemBytes is the memory that an item takes beside its channel and body, in bytes.
const itemBytes = 128

func (m *message) size() int64 { return int64(itemBytes + len(m.channel) + len(m.body)) }

// item is a message, or a gap in place of dropped messages; a dropped of -1 means that their number is not known.
type item struct {
	message *message // nil = a gap
	dropped int64
}

// subscription is one subscription of a session.
type subscription struct {
	id      string
	of      *Pubsub
	session *coord.Session
	outlet  coord.Outlet
	follow  *coord.Following
	most    int // the most messages in queue

	ready  chan struct{} // closed when it is confirmed
	failed chan error    // buffer of one; receives the error of a topic while it is not confirmed

	// What follows is guarded by the mutex of Pubsub.
	member    *member
	topics    []*topic
	missing   int  // topics that Redis has not confirmed
	confirmed bool // all topics were confirmed once
	missed    bool // after that, the connection was lost
	left      bool // it has ended

	mu sync.Mutex // guards what follows
	// held: the answer of its subscribe is not sent yet, so no item may be sent.
	held   bool
	closed bool
	// queue has the items that are not sent yet, from first on. kept does not count gaps.
	queue []item
	first int
	kept  int   // messages in queue
	bytes int64 // of them
	// pumping: queue is being sent, or resume will be called. asking: WhenRoom has not returned; roomy: it has called
	// resume.
	pumping, asking, roomy bool
}

// release lets the subscription send: the answer of its subscribe is now ahead of all items.
func (s *subscription) release() {
	s.mu.Lock()
	s.held = false
	s.mu.Unlock()
	s.room()
}

// take sends an item, or keeps it. It never blocks.
func (s *subscription) take(i item) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	if !s.held && !s.pumping && s.first == len(s.queue) {
		switch s.send(i) {
		case coord.ToldSent:
			s.mu.Unlock()
			return
		case coord.ToldGone:
			s.drop()
			s.mu.Unlock()
			return
		case coord.ToldFull:
		}
	}
	s.keep(i)
	idle := !s.held && !s.pumping
	s.mu.Unlock()
	if idle {
		s.room()
	}
}

// gap sends or queues a gap of dropped messages, -1 if their number is not known.
func (s *subscription) gap(dropped int64) { s.take(item{dropped: dropped}) }

// keep queues an item. A message that does not fit becomes a part of a gap. The caller holds mu, as for each method
// below that does not lock it.
func (s *subscription) keep(i item) {
	if i.message == nil {
		s.keepGap(i.dropped)
		return
	}
	size := i.message.size()
	if s.kept >= s.most || s.member.bytes.Load()+size > maxSessionBytes || s.of.bytes.Load()+size > maxBytes {
		s.of.Telemetry.PubsubMessages(context.Background(), telemetry.PubsubDropped, 1)
		s.keepGap(1)
		return
	}
	s.kept++
	s.account(size)
	s.queue = append(s.queue, i)
}

// keepGap queues a gap, or adds it to the last item if that is a gap.
func (s *subscription) keepGap(dropped int64) {
	if n := len(s.queue); n > s.first && s.queue[n-1].message == nil {
		if last := &s.queue[n-1].dropped; *last < 0 || dropped < 0 {
			*last = -1 // an unknown number stays unknown
		} else {
			*last += dropped
		}
		return
	}
	s.queue = append(s.queue, item{dropped: dropped})
}

// account adds n to the bytes of queued messages: of the subscription, of its session and of all.
func (s *subscription) account(n int64) {
	s.bytes += n
	s.member.bytes.Add(n)
	s.of.bytes.Add(n)
}

// send sends an item now.
func (s *subscription) send(i item) coord.Told {
	tel := s.of.Telemetry
	defer s.outlet.Flush()
	if i.message == nil {
		told := s.outlet.Notify(api.PubsubGapEvent.Spec, api.PubsubGap{Subscription: s.id, Dropped: i.dropped})
		if told == coord.ToldSent {
			tel.PubsubGap(context.Background())
		}
		return told
	}
	m := i.message
	told := s.outlet.Notify(api.PubsubMessageEvent.Spec, api.PubsubMessage{
		Subscription: s.id, Channel: m.channel, Pattern: m.pattern, Body: m.body,
	})
	if told == coord.ToldSent {
		tel.PubsubMessages(context.Background(), telemetry.PubsubDelivered, 1)
	}
	return told
}

// room starts to send queue, unless it is being sent already.
func (s *subscription) room() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pumping {
		s.pumping = true
		s.goOn()
	}
}

// resume is called once for each WhenRoom, from within it or later.
func (s *subscription) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		s.roomy = true
		return
	}
	s.goOn()
}

// goOn sends queue as long as there is room. It is a loop, so that a resume from within WhenRoom does not nest.
func (s *subscription) goOn() {
	for s.pump() {
		s.asking, s.roomy = true, false
		s.mu.Unlock()
		s.outlet.WhenRoom(s.resume)
		s.mu.Lock()
		if s.asking = false; !s.roomy {
			return // resume is still to come
		}
	}
	s.pumping = false
}

// pump sends queue. It returns true if the client must read before more can be sent.
func (s *subscription) pump() (full bool) {
	for !s.closed && s.first < len(s.queue) {
		i := s.queue[s.first]
		switch s.send(i) {
		case coord.ToldFull:
			return true
		case coord.ToldGone:
			s.drop()
			return false
		case coord.ToldSent:
		}
		s.queue[s.first] = item{}
		s.first++
		if i.message != nil {
			s.kept--
			s.account(-i.message.size())
		}
		if s.first == len(s.queue) {
			s.queue, s.first = nil, 0
		}
	}
	return false
}

// drop closes the subscription and empties queue.
func (s *subscription) drop() {
	s.closed = true
	s.account(-s.bytes)
	s.queue, s.first, s.kept = nil, 0, 0
}

// close ends the subscription: nothing is sent any more.
func (s *subscription) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.drop()
	}
}

// errTooMany refuses a subscribe with which the session would have that many topics.
type errTooMany int

func (n errTooMany) Error() string {
	return fmt.Sprintf("channels: this connection would have %d channels and patterns, and %d are the most; unsubscribe first, "+
		"use a pattern, or open another connection",
		int(n), maxSessionTopics)
}
