package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// fleets are sidecars in one registry, with one clock.
type fleets struct {
	t      *testing.T
	runner *lua.Runner
	clock  *conformance.Clock
	keys   coord.Keys
}

func newFleets(t *testing.T) *fleets {
	clock := conformance.NewClock()
	return &fleets{t, luatest.Open(t, lua.Options{URL: redistest.URL(t), Clock: clock.Micros}), clock, coord.NewKeys(redistest.Prefix(t), "")}
}

func (f *fleets) of(id string, about fleet.About) *fleet.Fleet {
	return fleet.New(fleet.Options{Runner: f.runner, Keys: f.keys, Sidecar: id, Clock: f.clock, About: func() fleet.About { return about }})
}

// seen returns how long ago each sidecar of the registry sent a heartbeat, in seconds, and the number of sidecars.
func (f *fleets) seen() (seconds map[string]int64, total int64) {
	f.t.Helper()
	r, err := f.of("looks", fleet.About{}).Sidecars(f.t.Context(), coord.Caller{}, &api.InspectSidecarsParams{Count: 100})
	require.NoError(f.t, err)
	seconds = make(map[string]int64)
	for _, s := range r.Sidecars {
		seconds[s.Sidecar] = s.SeenMS / 1000
	}
	return seconds, r.Total
}

func TestASidecarIsListedAsLongAsItHeartbeats(t *testing.T) {
	t.Parallel()
	f := newFleets(t)
	killed, lives := f.of("killed", fleet.About{}), f.of("lives", fleet.About{})
	require.NoError(t, killed.Heartbeat(t.Context()), "and never again")
	lives.Start()
	defer func() { require.NoError(t, lives.Stop(context.Background())) }()
	var next time.Time
	beaten := func() bool { // the next heartbeat is set once one was answered
		at, set := f.clock.Next()
		seen, _ := f.seen()
		ago, there := seen["lives"]
		next = at
		return set && there && ago == 0
	}
	coordtest.Until(t, beaten)
	require.Equal(t, 10*time.Second, next.Sub(f.clock.Now()))
	for second := int64(1); second <= 40; second++ {
		f.clock.Advance(time.Second)
		if second%10 == 0 {
			coordtest.Until(t, beaten)
		}
		want := map[string]int64{"lives": second % 10}
		if second < 30 {
			want["killed"] = second
		}
		seen, total := f.seen()
		require.Equal(t, want, seen, "after %d s", second)
		require.EqualValues(t, len(want), total)
	}
}

func TestASidecarThatStopsIsListedNoMore(t *testing.T) {
	t.Parallel()
	f := newFleets(t)
	require.NoError(t, f.of("other", fleet.About{}).Heartbeat(t.Context()))
	stops := f.of("stops", fleet.About{})
	stops.Start()
	coordtest.Until(t, func() bool { _, total := f.seen(); return total == 2 })
	require.NoError(t, stops.Stop(t.Context()))
	seen, _ := f.seen()
	require.Equal(t, map[string]int64{"other": 0}, seen)
}

func TestTheDescriptionOfASidecarIsListedAndBounded(t *testing.T) {
	t.Parallel()
	f := newFleets(t)
	long := strings.Repeat("x", 300)
	require.NoError(t, f.of("long", fleet.About{Pod: long, Address: long, Version: long}).Heartbeat(t.Context()))
	about := fleet.About{Pod: "pod-1", Address: "10.0.0.1:8086", Version: "1.2", StartedAtMS: 5, Rules: 3, RulesRevision: 7}
	me := f.of("me", about)
	require.NoError(t, me.Heartbeat(t.Context()))
	r, err := me.Sidecars(t.Context(), coord.Caller{}, &api.InspectSidecarsParams{Count: 100})
	require.NoError(t, err)
	cut := strings.Repeat("x", 256)
	require.ElementsMatch(t, []api.InspectSidecar{
		{Sidecar: "long", Pod: cut, Address: cut, Version: cut},
		{Sidecar: "me", Self: true, Pod: "pod-1", Address: "10.0.0.1:8086", Version: "1.2", StartedAtMS: 5, Rules: 3, RulesRevision: 7},
	}, r.Sidecars)
}

// A sidecar whose text is of another version is listed too.
func TestASidecarWhoseTextCannotBeReadIsListed(t *testing.T) {
	t.Parallel()
	f := newFleets(t)
	_, err := lua.Run(t.Context(), f.runner, fleet.HeartbeatScript, fleet.HeartbeatIn{
		Keys: f.registry(), Sidecar: "new", Text: "\xc1", TTLMS: 30_000, Most: fleet.MaxSidecars,
	}, lua.StoredReply{})
	require.NoError(t, err)
	seen, _ := f.seen()
	require.Equal(t, map[string]int64{"new": 0}, seen)
}

func (f *fleets) registry() fleet.Keys {
	return fleet.Keys{Ends: f.keys.Key("fleet:", "fleet:", "ends"), Texts: f.keys.Key("fleet:", "fleet:", "texts")}
}

func TestTheRegistryHasTenThousandSidecarsAtMost(t *testing.T) {
	t.Parallel()
	f := newFleets(t)
	o, err := redis.ParseURL(redistest.URL(t))
	require.NoError(t, err)
	c := redis.NewClient(o)
	defer c.Close()
	pipe := c.Pipeline()
	for i := range fleet.MaxSidecars - 1 {
		id := fmt.Sprint("s", i)
		pipe.ZAdd(t.Context(), f.registry().Ends, redis.Z{Score: float64(f.clock.Micros() + int64(time.Hour/time.Microsecond)), Member: id})
		pipe.HSet(t.Context(), f.registry().Texts, id, "{}")
	}
	_, err = pipe.Exec(t.Context())
	require.NoError(t, err)
	require.NoError(t, f.of("the last", fleet.About{}).Heartbeat(t.Context()))
	require.NoError(t, f.of("one too many", fleet.About{}).Heartbeat(t.Context()), "nobody waits for a heartbeat")
	_, total := f.seen()
	require.EqualValues(t, 10_000, total)
	for id, there := range map[string]bool{"the last": true, "one too many": false} {
		require.Equal(t, there, c.HExists(t.Context(), f.registry().Texts, id).Val(), id)
	}
	require.NoError(t, f.of("the last", fleet.About{}).Stop(t.Context()))
	require.NoError(t, f.of("one too many", fleet.About{}).Heartbeat(t.Context()))
	require.True(t, c.HExists(t.Context(), f.registry().Texts, "one too many").Val(), "there is room now")
}
