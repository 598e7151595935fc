package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// most is the largest number of sidecars in a registry of these tests.
const most = 3

// modelFleet is a registry as a map. A heartbeat removes the entries that have ended.
type modelFleet map[string]modelSidecar

type modelSidecar struct {
	text string
	ends int64 // us
}

func (m modelFleet) heartbeat(now int64, id, text string, ttl int64) bool {
	for other, s := range m {
		if s.ends <= now {
			delete(m, other)
		}
	}
	if _, known := m[id]; !known && len(m) >= most {
		return false
	}
	m[id] = modelSidecar{text, now + ttl*1000}
	return true
}

// list returns the sidecars whose entries have not ended, sorted by id.
func (m modelFleet) list(now int64) (all []fleet.Entry) {
	for id, s := range m {
		if s.ends > now {
			all = append(all, fleet.Entry{Sidecar: id, Text: s.text, LeftUS: s.ends - now})
		}
	}
	slices.SortFunc(all, func(a, b fleet.Entry) int { return strings.Compare(a.Sidecar, b.Sidecar) })
	return all
}

func keysOf(s *luatest.Store, name string) fleet.Keys {
	return fleet.Keys{Ends: s.Key(name + "ends"), Texts: s.Key(name + "texts")}
}

// TestTheRegistryEqualsTheModel makes more sidecars than the registry may have enter, send heartbeats, leave and
// expire, by a clock that also steps back.
func TestTheRegistryEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		life := 0
		rapid.Check(t, func(t *rapid.T) {
			life++
			name, now, m := fmt.Sprintf("f%d", life), luatest.Epoch, modelFleet{}
			defer s.Clear(t, name)
			keys, story := keysOf(s, name), []string{}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				id := rapid.SampledFrom([]string{"a", "b", "c\x00", "d", "\xff"}).Draw(t, "sidecar")
				step := rapid.SampledFrom([]string{"heartbeat", "heartbeat", "heartbeat", "leave", "pass", "back"}).Draw(t, "step")
				story = append(story, fmt.Sprintf("at %s %s %q", time.Duration(now-luatest.Epoch)*time.Microsecond, step, id))
				told := func() string { return strings.Join(story, "\n") }
				switch step {
				case "heartbeat":
					text, ttl := rapid.SampledFrom([]string{"", "{}", "\xfe"}).Draw(t, "text"), rapid.SampledFrom([]int64{10_000, 30_000}).Draw(t, "ttl")
					want := m.heartbeat(now, id, text, ttl)
					in := fleet.HeartbeatIn{Keys: keys, Sidecar: id, Text: text, TTLMS: ttl, Most: most}
					require.Equal(t, want, luatest.Call(t, s, fleet.HeartbeatScript, now, in), told)
					if want {
						for _, key := range []string{keys.Ends, keys.Texts} {
							short := time.Duration(ttl)*time.Millisecond - s.TTL(key)
							require.True(t, short >= 0 && short < 10*time.Second, told) // the store's own clock goes on
						}
					}
				case "leave":
					_, known := m[id]
					delete(m, id)
					require.Equal(t, known, luatest.Call(t, s, fleet.LeaveScript, now, fleet.LeaveIn{Keys: keys, Sidecar: id}), told)
				case "pass":
					now += rapid.SampledFrom([]int64{1, 9_999_999, 10_000_000, 30_000_000}).Draw(t, "us")
				case "back":
					now -= rapid.Int64Range(0, 2_000_000).Draw(t, "us")
				}
				out := luatest.Call(t, s, fleet.ListScript, now, fleet.ListIn{Keys: keys, Cursor: "0", Count: 100})
				want := fleet.ListOut{Cursor: "0", Total: int64(len(m.list(now))), Entries: m.list(now)}
				require.Equal(t, want, out, told)
				ctx := context.Background()
				kept := []int64{s.Client.ZCard(ctx, keys.Ends).Val(), s.Client.HLen(ctx, keys.Texts).Val()}
				require.Equal(t, []int64{int64(len(m)), int64(len(m))}, kept, told)
			}
		})
	})
}

// A key of another type fails the script before it writes the other key.
func TestAHeartbeatWithAKeyOfAnotherTypeWritesNothing(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		for i := range 2 {
			keys := keysOf(s, fmt.Sprint("wrong", i))
			wrong, other := []string{keys.Ends, keys.Texts}[i], []string{keys.Texts, keys.Ends}[i]
			require.NoError(t, s.Client.Set(context.Background(), wrong, "text", time.Hour).Err())
			k, args := lua.InputOf(fleet.HeartbeatScript, fleet.HeartbeatIn{Keys: keys, Sidecar: "a", TTLMS: 1000, Most: most})
			_, err := s.Eval(fleet.HeartbeatScript.Source, luatest.Epoch, k, args, lua.StoredReply{})
			require.ErrorContains(t, err, "WRONGTYPE")
			require.Equal(t, "none", s.Raw(t, other))
		}
	})
}
