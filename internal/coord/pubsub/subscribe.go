package pubsub

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Subscribe makes the sidecar send messages of channels and patterns to the caller's connection. It
// returns when Redis has confirmed all of them; messages that come from then on are sent after the
// answer.
func (p *Pubsub) Subscribe(ctx context.Context, c coord.Caller, params *api.PubsubSubscribeParams) (r api.PubsubSubscribeResult, _ error) {
	topics, err := p.topicsOf(params)
	if err != nil {
		return r, err
	}
	s := &subscription{
		id: rand.Text(), of: p, session: c.Session, most: int(params.Buffer),
		ready: make(chan struct{}), failed: make(chan error, 1), held: true,
	}
	follow, ok := c.Session.Follow(func(context.Context) { p.leave(s) })
	if !ok {
		return r, &coord.Error{Code: api.FailedPrecondition, Op: "pubsub: subscribe", Err: errEnded}
	}
	s.follow, s.outlet = follow, c.Session.Outlet
	if err := p.join(s, topics); err != nil {
		p.quit(s)
		return r, err
	}
	select {
	case <-s.ready:
	case err = <-s.failed:
	case <-ctx.Done():
		if err = p.listener.Trouble(); err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		p.quit(s)
		return r, coord.Failed("pubsub: subscribe", err)
	}
	c.Then(s.release)
	return api.PubsubSubscribeResult{Subscription: s.id}, nil
}

// errEnded is the error of a call that has no connection to send messages to.
var errEnded = errors.New("the connection takes no messages, or has ended")

// Unsubscribe ends a subscription of the caller's connection. None of its messages is sent after the
// answer.
func (p *Pubsub) Unsubscribe(_ context.Context, c coord.Caller, params *api.PubsubUnsubscribeParams) (api.PubsubUnsubscribeResult, error) {
	p.mu.RLock()
	var s *subscription
	if m := p.sessions[c.Session]; m != nil {
		s = m.subs[params.Subscription]
	}
	p.mu.RUnlock()
	return api.PubsubUnsubscribeResult{Unsubscribed: s != nil && p.quit(s)}, nil
}

// plainPattern matches the patterns that the embedded store supports; it panics at some others.
var plainPattern = regexp.MustCompile(`^([^\[]|\[[a-zA-Z0-9]+\])*$`)

// topicsOf checks the channels and patterns of a call, and returns each of them once.
func (p *Pubsub) topicsOf(params *api.PubsubSubscribeParams) ([]*topic, error) {
	switch n := len(params.Channels) + len(params.Patterns); {
	case n == 0:
		return nil, coord.Invalid("channels: missing; give 1 to %d channels or patterns", maxTopics)
	case n > maxTopics:
		return nil, coord.Invalid("channels: %d channels and patterns are too many; give at most %d, and subscribe again for more", n, maxTopics)
	}
	var topics []*topic
	seen := map[redis.Topic]bool{}
	add := func(field, name string, t topic) error {
		if err := coord.CheckText(field, name); err != nil {
			return err
		}
		if !seen[t.redis] {
			seen[t.redis] = true
			topics = append(topics, &t)
		}
		return nil
	}
	for _, name := range params.Channels {
		if err := add("channels", name, topic{redis: p.keys.channel(name)}); err != nil {
			return nil, err
		}
	}
	for _, name := range params.Patterns {
		if p.Runner.Status().Topology == redis.Embedded && !plainPattern.MatchString(name) {
			return nil, coord.Invalid("patterns: the embedded store knows no classes but of letters and digits: write [ab1] or use a Redis")
		}
		if err := add("patterns", name, topic{redis: p.keys.pattern(name), pattern: name}); err != nil {
			return nil, err
		}
	}
	return topics, nil
}

// join adds a subscription to its topics and to its session.
func (p *Pubsub) join(s *subscription, topics []*topic) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.left {
		return &coord.Error{Code: api.FailedPrecondition, Op: "pubsub: subscribe", Err: errEnded}
	}
	m := p.sessions[s.session]
	if m == nil {
		m = &member{subs: make(map[string]*subscription)}
	}
	if n := m.topics + len(topics); n > maxSessionTopics {
		return &coord.Error{Code: api.FailedPrecondition, Op: "pubsub: subscribe", Err: errTooMany(n)}
	}
	p.sessions[s.session] = m
	m.subs[s.id] = s
	m.topics += len(topics)
	s.member = m
	p.Telemetry.PubsubSubscriptions(context.Background(), 1)
	var fresh []redis.Topic
	for _, t := range topics {
		if known := p.topics[t.redis]; known != nil {
			t = known
		} else {
			p.topics[t.redis] = t
			fresh = append(fresh, t.redis)
		}
		t.subs = append(slices.Clip(t.subs), s)
		s.topics = append(s.topics, t)
		if !t.on {
			s.missing++
		}
	}
	p.listener.Add(fresh...)
	p.settle(s)
	return nil
}

// quit ends a subscription whose session goes on, and reports whether it had not ended before.
func (p *Pubsub) quit(s *subscription) bool {
	s.follow.Leave()
	return p.leave(s)
}

// leave ends a subscription, and reports whether it had not ended before.
func (p *Pubsub) leave(s *subscription) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.left = true
	m := s.member
	if m == nil || m.subs[s.id] != s {
		return false
	}
	s.close()
	delete(m.subs, s.id)
	if m.topics -= len(s.topics); len(m.subs) == 0 {
		delete(p.sessions, s.session)
	}
	p.Telemetry.PubsubSubscriptions(context.Background(), -1)
	var left []redis.Topic
	for _, t := range s.topics {
		t.subs = slices.DeleteFunc(slices.Clone(t.subs), func(other *subscription) bool { return other == s })
		if len(t.subs) == 0 {
			delete(p.topics, t.redis)
			left = append(left, t.redis)
		}
	}
	p.listener.Remove(left...)
	return true
}

// settle confirms a subscription when Redis has confirmed all its topics, and then sends a gap if it
// missed messages. The caller holds mu.
func (p *Pubsub) settle(s *subscription) {
	if s.missing > 0 {
		return
	}
	if !s.confirmed {
		s.confirmed = true
		close(s.ready)
	}
	if s.missed {
		s.missed = false
		s.gap(-1)
	}
}

// listening handles that Redis has confirmed a topic.
func (p *Pubsub) listening(name redis.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	// If the topic was left and joined again meanwhile, listening is called for it again.
	if t == nil || t.on || !p.listener.On(name) {
		return
	}
	t.on = true
	for _, s := range t.subs {
		s.missing--
		p.settle(s)
	}
}

// refused handles that Redis refuses a topic. Calls of Subscribe that wait for it fail; a subscription
// that was confirmed before keeps waiting.
func (p *Pubsub) refused(name redis.Topic, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	t := p.topics[name]
	if t == nil {
		return
	}
	for _, s := range t.subs {
		select {
		case s.failed <- err:
		default: // an error is there already
		}
	}
}

// lost handles the end of the connection to Redis. Subscribers are sent a gap not now but when messages
// can come again: a subscriber that reads the current state then misses nothing.
func (p *Pubsub) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.topics {
		t.on = false
	}
	for _, m := range p.sessions {
		for _, s := range m.subs {
			s.missing = len(s.topics)
			s.missed = s.confirmed
		}
	}
}

// message passes a message to all subscriptions of its topic.
func (p *Pubsub) message(pattern, channel, body string) {
	name := redis.Topic{Name: channel}
	if pattern != "" {
		name = redis.Topic{Name: pattern, Pattern: true}
	}
	p.mu.RLock()
	t := p.topics[name]
	var subs []*subscription
	if t != nil {
		subs = t.subs
	}
	p.mu.RUnlock()
	if len(subs) == 0 {
		return
	}
	m := message{pattern: t.pattern, channel: p.keys.named(channel), body: []byte(body)}
	for _, s := range subs {
		s.take(item{message: &m})
	}
}
