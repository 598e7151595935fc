package lua_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestASubscriberReceivesItsChannels(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		r, err := lua.Open(lua.Options{URL: url})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		p := redistest.Prefix(t)
		h, stop := luatest.Listen(t, r, p+"a", p+"b")
		luatest.Next(t, h.Subscribed)
		for _, m := range []string{p + "a 1", p + "b 2", p + "a 3"} {
			command(t, r, "publish", m[:len(p)+1], m[len(p)+2:])
			require.Equal(t, m, luatest.Next(t, h.Messages))
		}
		stop()
		command(t, r, "publish", p+"a", "late")
		require.Empty(t, h.Messages, "told after stop returned")
	})
}

func TestASubscriptionIsRestoredAndReportsIt(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	r, err := lua.Open(lua.Options{URL: s.URL()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	h, _ := luatest.Listen(t, r, "a", "b")
	luatest.Next(t, h.Subscribed)
	s.Restart()
	luatest.Next(t, h.Subscribed)
	require.NoError(t, s.Client(t).Publish(context.Background(), "b", "again").Err())
	require.Equal(t, "b again", luatest.Next(t, h.Messages))
}
