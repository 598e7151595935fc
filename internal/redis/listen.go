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

// Hearer holds the callbacks of a listener, which are called by one goroutine at a time.
// They must not block.
type Hearer struct {
	// Message is called with each message. Pattern is set if the message came because of a
	// topic that is a pattern.
	Message func(pattern, channel, payload string)
	// Listening is called when messages of a topic arrive from now on: once after the topic
	// was added, and once after each Lost.
	Listening func(t Topic)
	// Refused is called when Redis refuses to subscribe to a topic, which is tried again every
	// second. The error is an ErrUnavailable with its Trouble. It may be nil.
	Refused func(t Topic, err error)
	// Lost is called when a connection has ended that had topics for which Listening was
	// called. Messages are missed until Listening is called again. It may be nil.
	Lost func()
}

const (
	// listenCheck is how often a connection is checked, and pinged if nothing came.
	listenCheck = time.Second
	// listenSilence is how many checks in a row may find that nothing came before the
	// connection is closed.
	listenSilence = 5
	// listenIdle is for how many checks a connection without any topic is kept.
	listenIdle = 10
	// listenAtOnce is the greatest number of topics in one command.
	listenAtOnce = 1000
)

// Listener subscribes to topics over one connection. Topics may be added and removed at any
// time. There is no connection while there is no topic, and a broken one is made again.
type Listener struct {
	store *Store
	to    Hearer

	ctx    context.Context // ends with Stop, and with the store
	cancel context.CancelFunc
	// changed is filled when there is work; it has room for one.
	changed chan struct{}

	calling sync.Mutex // held during callbacks; locked before mu
	stopped bool

	mu     sync.Mutex // guards what follows
	topics map[Topic]*listened
	wanted int                // how many of the topics are wanted
	work   map[Topic]struct{} // the topics that plan has to look at
	why    error              // why there is no connection
}

// listened is a topic of a listener.
type listened struct {
	wanted    bool // it was added and not removed since
	announced bool // Listening was called since it was added, for this connection
	now       listenedState
}

// listenedState is the state of a topic on this connection: the last command about it and
// whether Redis has replied. No command is sent about a topic while a reply about it is due.
type listenedState uint8

const (
	listenedOff listenedState = iota
	listenedAsked
	listenedOn
	listenedLeaving
)

// Listen makes a listener without topics. It ends with Stop, or with the store.
func (s *Store) Listen(to Hearer) *Listener {
	l := &Listener{
		store: s, to: to, changed: make(chan struct{}, 1),
		topics: make(map[Topic]*listened), work: make(map[Topic]struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	s.wg.Go(l.run)
	return l
}

// Stop ends the listener. After Stop has returned no callback is called. It does not wait
// for Redis.
func (l *Listener) Stop() {
	l.calling.Lock()
	l.stopped = true
	l.calling.Unlock()
	l.cancel()
}

// Add subscribes to topics. It does not wait for Redis.
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

// Remove unsubscribes from topics. It does not wait for Redis, and Message may still be
// called for them.
func (l *Listener) Remove(topics ...Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range topics {
		if s := l.topics[t]; s != nil && s.wanted {
			s.wanted, s.announced = false, false
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

// On reports whether Listening was called for the topic, on the current connection, and the
// topic was not removed since.
func (l *Listener) On(t Topic) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.topics[t]
	return s != nil && s.wanted && s.now == listenedOn && s.announced
}

// Trouble returns why there is no connection: an ErrUnavailable with its Trouble, or nil if
// there is one or if no topic needs one.
func (l *Listener) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// wake makes write call plan again. The caller holds mu.
func (l *Listener) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// call calls f, unless the listener was stopped.
func (l *Listener) call(f func()) {
	l.calling.Lock()
	defer l.calling.Unlock()
	if !l.stopped {
		f()
	}
}

// run keeps a connection while there are topics, and makes a new one when it has ended.
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
	l.call(func() {
		l.mu.Lock()
		missed := false
		for t, s := range l.topics {
			missed = missed || s.announced
			s.announced, s.now = false, listenedOff
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

// changes are the commands that make the subscriptions of the connection what is wanted.
type changes struct {
	subscribe, psubscribe, unsubscribe, punsubscribe []string
	// unannounced are topics that are subscribed to and for which Listening was not called.
	unannounced []Topic
}

// plan empties work and returns the changes that it requires.
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
		case s.now == listenedOn && !s.announced:
			c.unannounced = append(c.unannounced, t)
		}
	}
	return c
}

// again puts topics that Redis has refused back into work.
func (l *Listener) again(topics []Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range topics {
		l.work[t] = struct{}{}
	}
	l.wake()
}

// refused records that Redis has refused a topic, and calls Refused.
func (l *Listener) refused(t Topic, err error) {
	l.call(func() {
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

// answered records that Redis has confirmed a subscription (on) or its end.
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

// announce calls Listening for a topic that is subscribed to, unless it was called already.
func (l *Listener) announce(t Topic) {
	l.call(func() {
		l.mu.Lock()
		s := l.topics[t]
		due := s != nil && s.wanted && s.now == listenedOn && !s.announced
		if due {
			s.announced = true
			l.why = nil
		}
		l.mu.Unlock()
		if due {
			l.to.Listening(t)
		}
	})
}

// Subscriber holds the callbacks of Subscribe, which are called by one goroutine at a time.
// They must not block.
type Subscriber struct {
	Message func(channel, payload string)
	// Subscribed is called each time that all channels have been subscribed to: the first
	// time and after each reconnect. Messages that were sent before that are lost.
	Subscribed func()
}

// Subscribe subscribes to channels until stop is called or the store is closed. It returns
// before the subscription is made. After stop has returned no callback is called. Neither
// waits for Redis.
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
