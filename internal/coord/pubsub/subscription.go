package pubsub

import (
	"context"
	"fmt"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// message is what all subscriptions of its topic are sent. It is not changed.
type message struct {
	pattern, channel string
	body             []byte
}

// itemBytes is what an item takes beside its texts.
const itemBytes = 128

func (m *message) size() int64 { return int64(itemBytes + len(m.channel) + len(m.body)) }

// item is a message, or a gap of so many, or of -1: nobody knows.
type item struct {
	message *message // nil = a gap
	dropped int64
}

// subscription is one of a session.
type subscription struct {
	id      string
	of      *Pubsub
	session *coord.Session
	outlet  coord.Outlet
	follow  *coord.Following
	most    int // messages that are kept

	ready  chan struct{} // closed when it is confirmed
	failed chan error    // has room for one; told while it is not confirmed

	// What follows is guarded by the mutex of Pubsub.
	member    *member
	topics    []*topic
	missing   int  // topics that Redis has not confirmed
	confirmed bool // all were, once
	missed    bool // and then the connection was lost
	left      bool // it has ended

	mu sync.Mutex // guards what follows
	// held: its answer is not on its way.
	held   bool
	closed bool
	// queue is what was not sent, from first on. A gap counts for no message.
	queue []item
	first int
	kept  int   // messages in it
	bytes int64 // of them
	// pumping: what is kept is being sent, or resume is to come. Asking: WhenRoom has not
	// returned; roomy: and there is room.
	pumping, asking, roomy bool
}

// release lets it send: its answer is ahead of what it sends from now on.
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

// gap has it know that so many messages were missed, or -1.
func (s *subscription) gap(dropped int64) { s.take(item{dropped: dropped}) }

// keep queues an item. A message that does not fit becomes a part of a gap. The caller holds
// mu, as of all below.
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

// keepGap queues a gap, as a part of the one before it if nothing is between them.
func (s *subscription) keepGap(dropped int64) {
	if n := len(s.queue); n > s.first && s.queue[n-1].message == nil {
		if last := &s.queue[n-1].dropped; *last < 0 || dropped < 0 {
			*last = -1 // what is not known stays so
		} else {
			*last += dropped
		}
		return
	}
	s.queue = append(s.queue, item{dropped: dropped})
}

// account counts bytes that are kept.
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

// room sends what is kept, unless that goes on already.
func (s *subscription) room() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pumping {
		s.pumping = true
		s.goOn()
	}
}

// resume is called once after each WhenRoom, from within it or later.
func (s *subscription) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		s.roomy = true
		return
	}
	s.goOn()
}

// goOn sends what is kept as long as there is room. It does not nest, however often there is
// room at once.
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

// pump sends what is kept. True = the client has to read first.
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

// drop forgets all that is kept.
func (s *subscription) drop() {
	s.closed = true
	s.account(-s.bytes)
	s.queue, s.first, s.kept = nil, 0, 0
}

// close ends it: nothing is sent any more.
func (s *subscription) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.drop()
	}
}

// errTooMany is why a session may not subscribe to that many.
type errTooMany int

func (n errTooMany) Error() string {
	return fmt.Sprintf("channels: this connection would have %d channels and patterns, and %d are the most; unsubscribe first, "+
		"use a pattern, or open another connection",
		int(n), maxSessionTopics)
}
