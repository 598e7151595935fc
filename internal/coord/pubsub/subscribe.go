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

// Subscribe has the caller's connection sent the messages of channels. It returns once Redis
// has confirmed all of them; what comes from then on is sent after the answer.
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

// errEnded is told to calls that have no connection to send messages to.
var errEnded = errors.New("the connection takes no messages, or has ended")

// Unsubscribe ends a subscription of the caller's connection. Nothing of it is sent after the
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

// plainPattern are the patterns that the embedded store can be given: it panics at some others.
var plainPattern = regexp.MustCompile(`^([^\[]|\[[a-zA-Z0-9]+\])*$`)

// topicsOf checks what a call asks for. What is named twice is one.
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

// join makes a subscription one of its topics and of its session.
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

// settle looks whether a subscription has all its topics; the caller holds mu.
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

// listening is told that Redis has confirmed a topic.
func (p *Pubsub) listening(name redis.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[name]
	// It may have been left and joined again meanwhile: then it is told again.
	if t == nil || t.on || !p.listener.On(name) {
		return
	}
	t.on = true
	for _, s := range t.subs {
		s.missing--
		p.settle(s)
	}
}

// refused is told that Redis refuses a topic. Who had it confirmed before waits on.
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
		default: // it is told already, or nobody waits
		}
	}
}

// lost is told that the connection has ended. That messages were missed is told when they come
// again: who then reads what is so now has missed nothing.
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

// message gives one to all that are subscribed to it.
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
