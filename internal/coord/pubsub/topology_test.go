package pubsub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// The channels have different slots, so that some are published through other nodes than the
// one that is listened to.
func TestTopologyMessagesReachSubscribersOfAllSidecars(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		prefix := redistest.Prefix(t)
		var clients []*client
		var sidecars []*coordtest.Sidecar
		for range 2 {
			s := coordtest.New(t, luatest.Open(t, lua.Options{URL: url}), prefix)
			require.NoError(t, luatest.UntilUp(t, s.Runner))
			c := connect(t, s, -1)
			c.subscribe(api.PubsubSubscribeParams{Patterns: []string{"c*"}})
			clients, sidecars = append(clients, c), append(sidecars, s)
		}
		const sent = 64
		for i := range sent {
			publish(t, sidecars[i%2], fmt.Sprint("c", i), fmt.Sprint(i))
		}
		for _, c := range clients {
			got := map[string]int{}
			for _, m := range c.wants(sent) {
				m, ok := m.(api.PubsubMessage)
				require.True(t, ok, "%v", m)
				got[m.Channel]++
			}
			require.Len(t, got, sent)
		}
	})
}

func TestTopologySentinelFailoverIsAGap(t *testing.T) {
	r := redistest.StartSentinel(t)
	s := sidecar(t, r.URL())
	require.NoError(t, luatest.UntilUp(t, s.Runner))
	c := connect(t, s, -1)
	id := c.subscribe(channels("c"))
	publish(t, s, "c", "before")
	c.wants(1)
	r.Failover()
	require.Equal(t, api.PubsubGap{Subscription: id, Dropped: -1}, c.wants(2)[1])
	heard := func() bool {
		for _, n := range c.heard() {
			if m, ok := n.(api.PubsubMessage); ok && string(m.Body) == "after" {
				return true
			}
		}
		return false
	}
	require.Eventually(t, func() bool {
		_, err := s.Pubsub.Publish(luatest.Deadline(t), coord.Caller{}, &api.PubsubPublishParams{Channel: "c", Body: []byte("after")})
		return err == nil && heard()
	}, 2*time.Minute, 50*time.Millisecond)
}
