package lua_test

import (
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// heard is a subscriber that keeps what it is told.
type heard struct{ messages, subscribed chan string }

func listen(t *testing.T, r *lua.Runner, channels ...string) (heard, func()) {
	t.Helper()
	h := heard{make(chan string, 100), make(chan string, 100)}
	stop := r.Subscribe(channels, redis.Subscriber{
		Message:    func(channel, payload string) { h.messages <- channel + " " + payload },
		Subscribed: func() { h.subscribed <- "" },
	})
	t.Cleanup(stop)
	return h, stop
}

func next(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		return ""
	}
}
