package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Topic is a channel of Pub/Sub, or a pattern of channels.
type Topic struct {
	Name    string
	Pattern bool
}

// Hearer is told what a listener hears, by one goroutine at a time. It must not block.
type Hearer struct {
	// Message is told each message. Of one that comes because of a pattern, it is given the
	// pattern.
	Message func(pattern, channel, payload string)
	// Listening is told that messages of a topic come from now on: once after it was added,
	// and once after each Lost.
	Listening func(t Topic)
	// Refused is told that Redis refuses to listen to a topic, which is tried again every
	// second. The error is an ErrUnavailable with its Trouble. Nil = nobody is told.
	Refused func(t Topic, err error)
	// Lost is told that a connection has ended on which there were topics of which Listening
	// was told. Messages are missed until it is told again. Nil = nobody is told.
	Lost func()
}

const (
	// listenCheck is how often a connection on which nothing came is pinged.
	listenCheck = time.Second
	// listenSilence is after how many checks without an answer the connection is given up.
	listenSilence = 5
	// listenIdle is how many checks long a connection is kept when there is nothing to listen
	// to any more.
	listenIdle = 10
	// listenAtOnce is how many topics go into one command.
	listenAtOnce = 1000
)

// Listener listens to topics, which come and go, over one connection. There is none while
// there is nothing to listen to, and it is made again whenever it breaks.
type Listener struct {
	store *Store
	to    Hearer

	ctx    context.Context // ends with Stop, and with the store
	cancel context.CancelFunc
	// changed is filled when there is work; it has room for one.
	changed chan struct{}

	telling sync.Mutex // held while the hearer is told; before mu
	stopped bool

	mu     sync.Mutex // guards what follows
	topics map[Topic]*listened
	wanted int                // how many of them are
	work   map[Topic]struct{} // those to look at
	why    error              // why there is no connection
}

// listened is a topic of a listener.
type listened struct {
	wanted bool
	told   bool // Listening was told of it, since it is wanted and since the connection is there
	now    listenedState
}

// listenedState is what Redis was asked and has answered of a topic, on this connection.
// Nothing is asked of a topic while an answer about it is to come.
type listenedState uint8

const (
	listenedOff listenedState = iota
	listenedAsked
	listenedOn
	listenedLeaving
)

// Listen makes a listener that has nothing to listen to. It ends with Stop, or with the store.
func (s *Store) Listen(to Hearer) *Listener {
	l := &Listener{
		store: s, to: to, changed: make(chan struct{}, 1),
		topics: make(map[Topic]*listened), work: make(map[Topic]struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	s.wg.Go(l.run)
	return l
}

// Stop ends the listener. After it has returned the hearer is not called any more. It does
// not wait for Redis.
func (l *Listener) Stop() {
	l.telling.Lock()
	l.stopped = true
	l.telling.Unlock()
	l.cancel()
}

// Add listens to topics. It does not wait for Redis.
func (l *Listener) Add(topics ...Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range topics {
		s := l.topics[t]
		if s == nil {
			s = &listened{}
			l.topics[t] = s
		}
		if !s.wanted {
			s.wanted = true
			l.wanted++
			l.work[t] = struct{}{}
		}
	}
	l.wake()
}

// Remove listens to topics no more. It does not wait for Redis, and a message may still come.
func (l *Listener) Remove(topics ...Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range topics {
		if s := l.topics[t]; s != nil && s.wanted {
			s.wanted, s.told = false, false
			l.wanted--
			if s.now == listenedOff {
				delete(l.topics, t)
				delete(l.work, t)
				continue
			}
			l.work[t] = struct{}{}
		}
	}
	l.wake()
}

// On reports whether Listening was told of a topic that was not removed since, and the
// connection is the same.
func (l *Listener) On(t Topic) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.topics[t]
	return s != nil && s.wanted && s.now == listenedOn && s.told
}

// Trouble is why there is no connection: an ErrUnavailable with its Trouble, or nil while
// there is one or none is needed.
func (l *Listener) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// wake has the goroutine look at the work; the caller holds mu.
func (l *Listener) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// tell calls f, unless the listener was stopped.
func (l *Listener) tell(f func()) {
	l.telling.Lock()
	defer l.telling.Unlock()
	if !l.stopped {
		f()
	}
}

// run makes one connection after another while there is something to listen to.
func (l *Listener) run() {
	pauses := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(20*time.Millisecond), backoff.WithMaxInterval(700*time.Millisecond),
		backoff.WithMultiplier(1.6), backoff.WithRandomizationFactor(0.4), backoff.WithMaxElapsedTime(0))
	for l.ctx.Err() == nil {
		l.mu.Lock()
		needed := l.wanted > 0
		l.mu.Unlock()
		if !needed {
			select {
			case <-l.changed:
			case <-l.ctx.Done():
			}
			continue
		}
		c := &listening{of: l}
		err := c.run()
		if c.listened {
			pauses.Reset()
		}
		l.lost(err)
		timer := time.NewTimer(pauses.NextBackOff())
		select {
		case <-timer.C:
		case <-l.ctx.Done():
		}
		timer.Stop()
	}
}

// lost is called when a connection has ended, or could not be made.
func (l *Listener) lost(err error) {
	l.tell(func() {
		l.mu.Lock()
		missed := false
		for t, s := range l.topics {
			missed = missed || s.told
			s.told, s.now = false, listenedOff
			if l.work[t] = struct{}{}; !s.wanted {
				delete(l.topics, t)
			}
		}
		l.why = nil
		if l.wanted > 0 {
			l.why = fmt.Errorf("listen: %w: %w", ErrUnavailable, troubleOf(err))
		}
		l.mu.Unlock()
		if missed && l.to.Lost != nil {
			l.to.Lost()
		}
	})
}

// changes bring Redis to what is wanted.
type changes struct {
	subscribe, psubscribe, unsubscribe, punsubscribe []string
	// known are topics that are listened to and of which nobody was told.
	known []Topic
}

// plan takes the work.
func (l *Listener) plan() (c changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.work {
		delete(l.work, t)
		s := l.topics[t]
		switch {
		case s == nil:
		case s.now == listenedOff && s.wanted:
			s.now = listenedAsked
			to := &c.subscribe
			if t.Pattern {
				to = &c.psubscribe
			}
			*to = append(*to, t.Name)
		case s.now == listenedOff:
			delete(l.topics, t)
		case s.now == listenedOn && !s.wanted:
			s.now = listenedLeaving
			to := &c.unsubscribe
			if t.Pattern {
				to = &c.punsubscribe
			}
			*to = append(*to, t.Name)
		case s.now == listenedOn && !s.told:
			c.known = append(c.known, t)
		}
	}
	return c
}

// again has topics looked at that Redis has refused.
func (l *Listener) again(topics []Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range topics {
		l.work[t] = struct{}{}
	}
	l.wake()
}

// refused is called when Redis has refused a topic.
func (l *Listener) refused(t Topic, err error) {
	l.tell(func() {
		l.mu.Lock()
		s := l.topics[t]
		if s != nil {
			s.now = listenedOff
		}
		l.mu.Unlock()
		if s != nil && l.to.Refused != nil {
			l.to.Refused(t, fmt.Errorf("listen: %w: %w", ErrUnavailable, troubleOf(err)))
		}
	})
}

// answered is called when Redis has answered about a topic.
func (l *Listener) answered(t Topic, on bool) {
	l.mu.Lock()
	s := l.topics[t]
	if s == nil {
		l.mu.Unlock()
		return
	}
	s.now = listenedOff
	if on {
		s.now = listenedOn
	}
	if !on || !s.wanted {
		l.work[t] = struct{}{}
		l.wake()
	}
	l.mu.Unlock()
	l.announce(t)
}

// announce tells of a topic that is listened to, once.
func (l *Listener) announce(t Topic) {
	l.tell(func() {
		l.mu.Lock()
		s := l.topics[t]
		due := s != nil && s.wanted && s.now == listenedOn && !s.told
		if due {
			s.told = true
			l.why = nil
		}
		l.mu.Unlock()
		if due {
			l.to.Listening(t)
		}
	})
}

// Subscriber receives what arrives on its channels, on one goroutine. It must not
// block.
type Subscriber struct {
	Message func(channel, payload string)
	// Subscribed is called whenever all channels have been subscribed to, also the
	// first time. Messages that were sent before that are lost.
	Subscribed func()
}

// Subscribe listens on channels until stop is called or the store is closed. It returns before
// the subscription is made. After stop has returned the subscriber is not called any
// more. Neither waits for Redis.
func (s *Store) Subscribe(channels []string, to Subscriber) (stop func()) {
	made := 0
	l := s.Listen(Hearer{
		Message: func(_, channel, payload string) { to.Message(channel, payload) },
		Listening: func(Topic) {
			if made++; made == len(channels) {
				to.Subscribed()
			}
		},
		Lost: func() { made = 0 },
	})
	for _, c := range channels {
		l.Add(Topic{Name: c})
	}
	return l.Stop
}
