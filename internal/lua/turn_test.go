package lua_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// scripted is the turn of a call that may have another call ahead of it.
type scripted struct {
	mu     sync.Mutex // guards what follows
	behind bool       // the call ahead failed and has not ended
	story  []string
}

func (s *scripted) Await(_ context.Context, via any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if via == nil {
		s.behind = false
		s.story = append(s.story, "alone")
	}
	return nil
}

func (s *scripted) Sent(any) { s.say("sent") }
func (s *scripted) Failed()  { s.say("failed") }

func (s *scripted) Behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind
}

func (s *scripted) Answered() { s.say("answered") }

func (s *scripted) say(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.story); n == 0 || s.story[n-1] != what {
		s.story = append(s.story, what)
	}
}

// A call that was submitted is not executed while the call ahead of it still has to be tried again.
func TestCallsBehindAFailedCallAreHeldBack(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		r, key := luatest.Open(t, lua.Options{URL: url}), redistest.Prefix(t)+":{k}"
		s := &scripted{}
		_, err := take(redis.WithTurn(luatest.Deadline(t), s), r, key, 9)
		require.NoError(t, err)
		require.Equal(t, []string{"sent", "answered"}, s.story)

		s = &scripted{behind: true}
		_, err = take(redis.WithTurn(luatest.Deadline(t), s), r, key, 9)
		require.NoError(t, err)
		require.Contains(t, s.story, "failed")
		require.Equal(t, "answered", s.story[len(s.story)-1])
		require.Contains(t, s.story, "alone")
		require.EqualValues(t, 2, spent(t, r, key, 9), "executed once each")
	})
}
