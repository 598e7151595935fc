package luatest

import (
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Heard is a subscriber that records its callbacks.
type Heard struct {
	// Messages are channels and payloads with a space between them.
	Messages chan string
	// Subscribed gets a value whenever the subscription was made, also after it was lost.
	Subscribed chan string
}

// Listen subscribes until the test ends, or until the function is called.
func Listen(t *testing.T, r *lua.Runner, channels ...string) (Heard, func()) {
	t.Helper()
	h := Heard{make(chan string, 100), make(chan string, 100)}
	stop := r.Subscribe(channels, redis.Subscriber{
		Message:    func(channel, payload string) { h.Messages <- channel + " " + payload },
		Subscribed: func() { h.Subscribed <- "" },
	})
	t.Cleanup(stop)
	return h, stop
}

// Next returns the next value; if none comes within 30 seconds, the test fails.
func Next(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		return ""
	}
}
