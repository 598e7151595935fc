package stream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func aRun(s *luatest.Store, name string) *streamRun {
	return &streamRun{s: s, name: s.Key(name), now: luatest.Epoch}
}

func (p *streamRun) publishing(message string, delay, maxLen int64) stream.PublishIn {
	return stream.PublishIn{
		Keys: p.keys(), DelayedKeys: p.delayedKeys(), Message: message, DedupeMS: 1000, DelayMS: delay, MaxLen: maxLen, Broadcast: "b",
	}
}

func (p *streamRun) claiming(count, most int64, after string) stream.ClaimIn {
	return stream.ClaimIn{
		Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", Consumer: "me", VisibilityMS: visible, MaxDeliveries: most, Count: count, After: after,
	}
}

// filled makes n messages that were all delivered to one consumer, and are idle.
func filled(t *testing.T, s *luatest.Store, name, text string, n int) *streamRun {
	p := aRun(s, name)
	for range n {
		luatest.Call(t, s, stream.PublishScript, p.now, p.publishing(text, 0, 0))
	}
	luatest.Call(t, s, stream.OpenScript, p.now, stream.OpenIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", From: "0-0"})
	for _, m := range s.Deliver(t, p.keys().Log, "g", "you", int64(n)) {
		s.Idle(t, p.keys().Log, "g", m.ID, hidden)
	}
	return p
}

// One run of ClaimScript finds at most 100 messages, and the runs after it find all others, with or without capacity.
func TestClaimsContinueThroughManyPendingMessages(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		p := filled(t, s, "room", "m", 250)
		var claimed, looks int
		for after := ""; looks == 0 || after != ""; looks++ {
			out := luatest.Call(t, s, stream.ClaimScript, p.now, p.claiming(100, 5, after))
			claimed += len(out.Claimed)
			require.LessOrEqual(t, len(out.Claimed), 100)
			after = out.Next
		}
		require.Equal(t, []int{250, 3}, []int{claimed, looks})

		p = filled(t, s, "none", "m", 250)
		// The last message has had its last attempt.
		all := s.Pending(t, p.keys().Log, "g")
		last := all[len(all)-1].ID
		require.NoError(t, s.Client.Do(t.Context(), "XCLAIM", p.keys().Log, "g", "you", 0, last,
			"IDLE", hidden.Milliseconds(), "RETRYCOUNT", 5, "JUSTID").Err())
		dead := int64(0)
		for after, n := "", 0; n == 0 || after != ""; n++ {
			require.Less(t, n, 10)
			out := luatest.Call(t, s, stream.ClaimScript, p.now, p.claiming(0, 5, after))
			require.Empty(t, out.Claimed)
			dead += out.Dead
			after = out.Next
		}
		require.EqualValues(t, 1, dead, "it is behind 249 for which there is no room")
	})
}

func TestAnswersAndRunsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		large := strings.Repeat("x", 256<<10)
		p := filled(t, s, "claim", large, 12)
		out := luatest.Call(t, s, stream.ClaimScript, p.now, p.claiming(100, 5, ""))
		require.Len(t, out.Claimed, 4)
		require.True(t, out.More)
		again := luatest.Call(t, s, stream.ClaimScript, p.now, p.claiming(100, 5, out.Next))
		require.Len(t, again.Claimed, 4)
		require.NotEqual(t, out.Claimed[0].ID, again.Claimed[0].ID)

		p = aRun(s, "due")
		for range 12 {
			luatest.Call(t, s, stream.PublishScript, p.now, p.publishing(large, 1, 0))
		}
		p.now += 1_000_000
		for _, added := range []int64{4, 4, 4} {
			out := luatest.Call(t, s, stream.DueScript, p.now, stream.DueIn{Keys: p.keys(), DelayedKeys: p.delayedKeys()})
			require.Equal(t, added, out.Added)
		}
		require.EqualValues(t, 12, s.Client.XLen(t.Context(), p.keys().Log).Val())
	})
}

// A delayed message trims its stream when it is added, as any other message does.
func TestAStreamIsTrimmedToAboutMaxLen(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for name, delay := range map[string]int64{"at once": 0, "delayed": 1} {
			p := aRun(s, name)
			for i := range 600 {
				luatest.Call(t, s, stream.PublishScript, p.now, p.publishing(fmt.Sprint(i), delay, 10))
			}
			p.now += 1_000_000
			for next := int64(0); next == 0; {
				next = luatest.Call(t, s, stream.DueScript, p.now, stream.DueIn{Keys: p.keys(), DelayedKeys: p.delayedKeys()}).NextMS
			}
			all, err := s.Client.XRange(t.Context(), p.keys().Log, "-", "+").Result()
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(all), 10, name)
			require.LessOrEqual(t, len(all), 300, name)
			for i, m := range all {
				require.Equal(t, fmt.Sprint(600-len(all)+i), m.Values["m"], name)
			}
		}
	})
}

// A key of another type makes a script fail before it writes anything.
func TestAKeyOfAnotherTypeFailsBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		ctx := context.Background()
		runs := map[string]func(p *streamRun) (*lua.Source, []string, []any){
			"publish": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.PublishScript, p.publishing("m", 0, 0))
			},
			"delay": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.PublishScript, p.publishing("m", 1000, 0))
			},
			"due": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.DueScript, stream.DueIn{Keys: p.keys(), DelayedKeys: p.delayedKeys()})
			},
			"claim": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.ClaimScript, p.claiming(10, 1, ""))
			},
			"ack": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.AckScript, stream.AckIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", ID: p.pending(t)})
			},
			"nack": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.NackScript, stream.NackIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", ID: p.pending(t)})
			},
			"bury": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.NackScript, stream.NackIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", ID: p.pending(t), Dead: true})
			},
			"return": func(p *streamRun) (*lua.Source, []string, []any) {
				return inputOf(stream.ReturnScript, stream.ReturnIn{HeldIn: p.held("g", "you", p.pending(t)), Untouched: true, Broadcast: "b"})
			},
		}
		for name, input := range runs {
			wrong := 0
			for at := range 6 {
				p := filled(t, s, fmt.Sprint(name, at), "m", 1)
				luatest.Call(t, s, stream.PublishScript, p.now, p.publishing("late", 1, 0))
				p.now += 1_000_000
				src, keys, args := input(p)
				all := []string{p.keys().Log, p.keys().Dead, p.keys().Groups, p.of("g").Retry, p.delayedKeys().Due, p.delayedKeys().Delayed}
				p.s.Del(t, all[at])
				require.NoError(t, s.Client.Set(ctx, all[at], "text", time.Hour).Err())
				before := p.raw(t, all)
				if _, err := s.Eval(src, p.now, keys, args, lua.StoredReply{}); err != nil {
					wrong++
					require.ErrorContains(t, err, "WRONGTYPE", name)
					require.Equal(t, before, p.raw(t, all), "%s, with %s of another type", name, all[at])
				}
			}
			require.Positive(t, wrong, name)
		}
	})
}

func inputOf[I, O any](s lua.Script[I, O], in I) (*lua.Source, []string, []any) {
	keys, args := lua.InputOf(s, in)
	return s.Source, keys, args
}

func (p *streamRun) raw(t *testing.T, keys []string) (all []string) {
	for _, key := range keys {
		all = append(all, p.s.Raw(t, key))
	}
	return all
}

// pending returns the id of the first pending message.
func (p *streamRun) pending(t *testing.T) string {
	return p.s.Pending(t, p.keys().Log, "g")[0].ID
}

func TestDelaysOfANackDoubleUpToFiveMinutes(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		p := filled(t, s, "nack", "m", 1)
		id, want := p.pending(t), int64(1000)
		for attempts := int64(1); attempts < 40; attempts++ {
			require.NoError(t, s.Client.Do(t.Context(), "XCLAIM", p.keys().Log, "g", "me", 0, id, "RETRYCOUNT", attempts, "JUSTID").Err())
			in := stream.NackIn{Keys: p.keys(), GroupKeys: p.of("g"), Group: "g", ID: id, DelayMS: -1}
			require.Equal(t, stream.NackOut{Nacked: true, DelayMS: want, Attempt: attempts}, luatest.Call(t, s, stream.NackScript, p.now, in))
			want = min(2*want, 300_000)
		}
	})
}
