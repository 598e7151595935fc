package stream_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func TestScriptsSmoke(t *testing.T) {
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		now := int64(luatest.Epoch)
		k := stream.Keys{Log: s.Key("log"), Dead: s.Key("dead"), Groups: s.Key("groups")}
		d := stream.DelayedKeys{Due: s.Key("due"), Delayed: s.Key("delayed")}
		pub := func(m, dedupe string, delay int64) stream.PublishOut {
			in := stream.PublishIn{Keys: k, DelayedKeys: d, Message: m, DedupeMS: 1000, DelayMS: delay, Broadcast: "b", MaxLen: 100}
			if dedupe != "" {
				in.Dedupe = s.Key("dedupe:" + dedupe)
			}
			return luatest.Call(t, s, stream.PublishScript, now, in)
		}
		one := pub("one", "x", 0)
		require.True(t, one.Published)
		require.Equal(t, stream.PublishOut{ID: one.ID}, pub("one", "x", 0))
		require.True(t, pub("late", "", 1000).Published)
		open := func() stream.OpenOut {
			return luatest.Call(t, s, stream.OpenScript, now, stream.OpenIn{Keys: k, Group: "g", From: "0-0"})
		}
		require.Equal(t, stream.OpenOut{Created: true, Last: "0-0"}, open())
		require.Equal(t, stream.OpenOut{Last: "0-0"}, open())
		due := func() stream.DueOut {
			return luatest.Call(t, s, stream.DueScript, now, stream.DueIn{Keys: k, DelayedKeys: d})
		}
		require.Equal(t, stream.DueOut{NextMS: 1000}, due())
		now += 1_000_000
		require.Equal(t, stream.DueOut{Added: 1, NextMS: -1}, due())
		read := func(n int64) []redis.XMessage {
			got, err := s.Client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "g", Consumer: "me", Streams: []string{k.Log, ">"}, Count: n, Block: -1}).Result()
			require.NoError(t, err)
			return got[0].Messages
		}
		got := read(10)
		require.Len(t, got, 2)
		claim := func(visibility int64) stream.ClaimOut {
			return luatest.Call(t, s, stream.ClaimScript, now, stream.ClaimIn{Keys: k, Retry: s.Key("retry"), Group: "g", Consumer: "me", VisibilityMS: visibility, MaxDeliveries: 3, Count: 10})
		}
		out := claim(1_000_000)
		require.Equal(t, stream.ClaimOut{RetryMS: -1, Last: got[1].ID}, out)
		nack := func(id string, delay int64) stream.NackOut {
			return luatest.Call(t, s, stream.NackScript, now, stream.NackIn{Keys: k, Retry: s.Key("retry"), Group: "g", ID: id, DelayMS: delay, MaxDeliveries: 3})
		}
		require.Equal(t, stream.NackOut{Nacked: true, DelayMS: 1000, Attempt: 1}, nack(got[0].ID, -1))
		out = claim(1_000_000)
		require.Equal(t, stream.ClaimOut{RetryMS: 1000, Last: got[1].ID}, out)
		now += 1_000_000
		out = claim(1_000_000)
		require.Equal(t, stream.ClaimOut{RetryMS: -1, Last: got[1].ID, Claimed: []stream.Claimed{{ID: got[0].ID, Attempt: 2, Message: "one"}}}, out)
		require.Equal(t, int64(2000), nack(got[0].ID, -1).DelayMS)
		now += 2_000_000
		require.Equal(t, int64(3), claim(1_000_000).Claimed[0].Attempt)
		require.Equal(t, stream.NackOut{Nacked: true, Dead: true, Attempt: 3}, nack(got[0].ID, -1))
		held := stream.HeldIn{Keys: k, Retry: s.Key("retry"), Group: "g", Consumer: "me", ID: got[1].ID}
		require.Equal(t, stream.StateDone, luatest.Call(t, s, stream.ExtendScript, now, held))
		require.Equal(t, stream.StateDone, luatest.Call(t, s, stream.ReturnScript, now, stream.ReturnIn{HeldIn: held, Untouched: true, Broadcast: "b"}))
		out = claim(1_000_000)
		require.Equal(t, []stream.Claimed{{ID: got[1].ID, Attempt: 1, Message: "late"}}, out.Claimed)
		ack := stream.AckIn{Keys: k, Retry: s.Key("retry"), Group: "g", ID: got[1].ID}
		require.True(t, luatest.Call(t, s, stream.AckScript, now, ack))
		require.False(t, luatest.Call(t, s, stream.AckScript, now, ack))
		require.Equal(t, stream.StateGone, luatest.Call(t, s, stream.ExtendScript, now, held))
		require.EqualValues(t, 1, s.Client.XLen(t.Context(), k.Dead).Val())
	})
}
