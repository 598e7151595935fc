package coord

import (
	"crypto/rand"
	"strings"
	"sync"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Signals is what sidecars tell each other through Pub/Sub: in this sidecar's
// inbox, whose turn it is among its waiters; in the broadcast, what every cache
// must forget. Messages may be lost, and then things are only slower: nothing
// rests on one that arrives.
type Signals struct {
	// Sidecar is this process among all of the fleet.
	Sidecar string
	keys    Keys
	stop    func()

	mu     sync.Mutex // guards what follows; held while they are called
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

// OnTurn has turn called for each waiter of this sidecar whose turn it is. It
// must not block.
func (s *Signals) OnTurn(turn func(waiter string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
}

// OnForget has forget called for each broadcast: topic is what happened, such
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
