package coord

import (
	"crypto/rand"
	"strings"
	"sync"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Signals are the messages between sidecars through Pub/Sub. The inbox of a sidecar receives the ids of its
// waiters whose turn it is; the broadcast announces changes that every cache must drop. Messages may
// be lost. That only delays what depends on them: correctness never depends on a
// message.
type Signals struct {
	// Sidecar is the id of this process, unique in the fleet.
	Sidecar string
	keys    Keys
	stop    func()

	mu     sync.Mutex // guards what follows; held while these functions are called
	turn   func(waiter string)
	forget []func(topic, key string)
	afresh []func()
}

// NewSignals subscribes in the background; Stop ends it.
func NewSignals(r *lua.Runner, k Keys) *Signals {
	s := &Signals{Sidecar: rand.Text(), keys: k, turn: func(string) {}}
	inbox := k.inbox(s.Sidecar)
	s.stop = r.Subscribe([]string{inbox, k.Broadcast()}, redis.Subscriber{
		Message: func(channel, payload string) {
			if channel == inbox {
				s.inbox(payload)
				return
			}
			topic, key, _ := strings.Cut(payload, " ")
			s.broadcast(topic, key)
		},
		Subscribed: s.subscribed,
	})
	return s
}

// Stop ends the subscription.
func (s *Signals) Stop() { s.stop() }

// OnTurn sets the function that is called for each waiter of this sidecar whose turn it is. It
// must not block.
func (s *Signals) OnTurn(turn func(waiter string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
}

// OnForget adds a function that is called for each broadcast: topic is what happened, such
// as reset, and key the Redis key that it happened to. Afresh is called after
// each interval in which broadcasts may have been lost. Neither may block.
func (s *Signals) OnForget(forget func(topic, key string), afresh func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget, s.afresh = append(s.forget, forget), append(s.afresh, afresh)
}

func (s *Signals) inbox(waiter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(waiter)
}

func (s *Signals) broadcast(topic, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forget {
		f(topic, key)
	}
}

func (s *Signals) subscribed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.afresh {
		f()
	}
}
