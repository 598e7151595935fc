package coord_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// audience follows a hub whose clock is the test's.
type audience struct {
	hub   *coord.Events
	now   time.Time
	heard []coord.Event
}

func newAudience(kinds ...coord.EventKind) *audience {
	a := &audience{hub: coord.NewEvents(), now: time.UnixMilli(1_767_225_600_000)}
	a.hub.SetClock(func() time.Time { return a.now })
	a.hub.Subscribe(kinds, func(e coord.Event) { a.heard = append(a.heard, e) })
	return a
}

// told lists what was heard since the last time, as "name count".
func (a *audience) told() []string {
	var all []string
	for _, e := range a.heard {
		all = append(all, fmt.Sprintf("%s %d", e.Name, e.Count))
	}
	a.heard = nil
	return all
}

func refusal(name string) coord.Event {
	return coord.Event{Kind: coord.EventRefused, Noun: "ratelimit", Name: name, Key: "k", Reason: "limit"}
}

func TestRefusalsAreToldOncePerSecondAndCounted(t *testing.T) {
	t.Parallel()
	a := newAudience()
	for range 5 {
		a.hub.Publish(refusal("r"))
	}
	require.Equal(t, []string{"r 1"}, a.told(), "the first at once, the others not at all")
	a.now = a.now.Add(999 * time.Millisecond)
	a.hub.Publish(refusal("r"))
	require.Empty(t, a.told())
	a.now = a.now.Add(time.Millisecond)
	a.hub.Publish(refusal("r"))
	require.Equal(t, []string{"r 6"}, a.told(), "with the five that were not told")
	a.now = a.now.Add(time.Minute)
	require.Empty(t, a.told(), "nothing is told by itself")
	a.hub.Publish(refusal("r"))
	require.Equal(t, a.now, a.heard[0].At)
	require.Equal(t, []string{"r 1"}, a.told())
}

func TestOnlyWhatIsAlikeIsSampledTogether(t *testing.T) {
	t.Parallel()
	a := newAudience()
	other := refusal("r")
	other.Key = "another" // there are as many keys as users
	a.hub.Publish(refusal("r"))
	a.hub.Publish(other)
	a.hub.Publish(refusal("s"))
	paused := refusal("r")
	paused.Reason = "pause"
	a.hub.Publish(paused)
	degraded := refusal("r")
	degraded.Kind = coord.EventDegraded
	a.hub.Publish(degraded)
	a.hub.Publish(degraded)
	lock := refusal("r")
	lock.Noun = "lock"
	a.hub.Publish(lock)
	require.Equal(t, []string{"r 1", "s 1", "r 1", "r 1", "r 1"}, a.told())
	for _, kind := range []coord.EventKind{coord.EventLost, coord.EventReloaded, coord.EventDraining} {
		for range 2 {
			a.hub.Publish(coord.Event{Kind: kind, Name: "n"})
		}
		require.Equal(t, []string{"n 1", "n 1"}, a.told(), "%s is not sampled", kind)
	}
}

func TestSamplingRemembersABoundedNumberOfNames(t *testing.T) {
	t.Parallel()
	a := newAudience()
	for i := range 3 * coord.MaxBursts {
		a.hub.Publish(refusal(fmt.Sprint(i)))
	}
	require.Equal(t, coord.MaxBursts, a.hub.Bursts())
	require.Len(t, a.told(), 3*coord.MaxBursts)
}

func TestNothingIsRememberedWhileNobodyListens(t *testing.T) {
	t.Parallel()
	hub := coord.NewEvents()
	hub.Publish(refusal("r"))
	require.False(t, hub.Wanted())
	require.Zero(t, hub.Bursts())
	heard := 0
	cancel := hub.Subscribe(nil, func(e coord.Event) { heard += int(e.Count) })
	require.True(t, hub.Wanted())
	hub.Publish(refusal("r"))
	hub.Publish(refusal("r"))
	require.Equal(t, 1, heard)
	cancel()
	cancel()
	require.False(t, hub.Wanted())
	require.Zero(t, hub.Bursts(), "what nobody saw is not news to the next")
	hub.Publish(refusal("r"))
	require.Equal(t, 1, heard)
}

func TestASubscriberHearsTheKindsItFollows(t *testing.T) {
	t.Parallel()
	hub := coord.NewEvents()
	var heard []coord.EventKind
	s := hub.Subscriber(func(e coord.Event) { heard = append(heard, e.Kind) })
	publish := func() []coord.EventKind {
		heard = nil
		for _, k := range coord.EventKinds() {
			hub.Publish(coord.Event{Kind: k, Name: fmt.Sprint(len(heard))})
		}
		return heard
	}
	require.False(t, s.Following())
	require.Empty(t, publish())
	s.Follow(nil)
	require.Equal(t, coord.EventKinds(), publish())
	s.Follow([]coord.EventKind{coord.EventLost, coord.EventReloaded})
	require.Equal(t, []coord.EventKind{coord.EventLost, coord.EventReloaded}, publish())
	s.Follow([]coord.EventKind{coord.EventDraining})
	require.Equal(t, []coord.EventKind{coord.EventDraining}, publish(), "in place of those before")
	s.Leave()
	require.False(t, s.Following())
	require.Empty(t, publish())
	s.Follow(nil)
	require.True(t, s.Following())
	s.Close()
	s.Follow(nil)
	require.False(t, s.Following(), "closed for good")
	require.Empty(t, publish())
}

// A kind that is followed before and after is neither missed nor told twice
// while the kinds are replaced.
func TestReplacingKindsMissesNothing(t *testing.T) {
	t.Parallel()
	hub := coord.NewEvents()
	var heard atomic.Int64
	s := hub.Subscriber(func(coord.Event) { heard.Add(1) })
	s.Follow(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			hub.Publish(coord.Event{Kind: coord.EventLost})
		}
	})
	for range 500 {
		s.Follow([]coord.EventKind{coord.EventLost})
		s.Follow(nil)
	}
	wg.Wait()
	require.EqualValues(t, 1000, heard.Load())
}

func TestNoHubIsSafeEverywhere(t *testing.T) {
	t.Parallel()
	var hub *coord.Events
	require.False(t, hub.Wanted())
	hub.Publish(refusal("r"))
	hub.Subscribe(nil, func(coord.Event) { t.Error("told") })()
	s := hub.Subscriber(nil)
	s.Follow(nil)
	require.False(t, s.Following())
	s.Leave()
	s.Close()
	var none *coord.Subscriber
	none.Follow(nil)
	none.Leave()
	none.Close()
	require.False(t, none.Following())
}

func TestALostLeaseIsAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		hub := coord.NewEvents()
		var heard []coord.Event
		hub.Subscribe([]coord.EventKind{coord.EventLost}, func(e coord.Event) {
			require.Len(t, w.lost(), 1, "its holder is told first")
			heard = append(heard, e)
		})
		l.Report(hub)
		w.Identify(coord.Identity{Client: "billing", Instance: "pod-7"})
		w.Bind(&n.FakeKind, "a", ttl)
		l.Lookup("a")(lease.ReasonNotOwner)
		require.Equal(t, []coord.Event{{
			Kind: coord.EventLost, At: time.Now(), Noun: "fake", Name: "a", Reason: "not_owner", Count: 1,
			Detail: `session ` + w.ID + ` of client "billing", instance "pod-7"`,
		}}, heard)
	})
}

func TestWhatASessionHoldsIsShown(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		held, more := l.HeldBy(w.Session, 10)
		require.Empty(t, held)
		require.Zero(t, more)
		w.Bind(&n.FakeKind, "b", ttl)
		w.Bind(&n.FakeKind, "a", ttl)
		w.Doubt(&n.FakeKind, "who knows", ttl)
		time.Sleep(time.Second) // of the bubble
		held, more = l.HeldBy(w.Session, 10)
		require.Zero(t, more)
		left := ttl - ttl/100 - 2*time.Millisecond - time.Second
		require.Equal(t, []lease.HeldInfo{{Noun: "fake", Name: "a", Left: left, Fence: 7}, {Noun: "fake", Name: "b", Left: left, Fence: 7}}, held)
		held, more = l.HeldBy(w.Session, 1)
		require.Len(t, held, 1)
		require.Equal(t, 1, more)
	})
}

func TestRulesAreShown(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRules()
	require.Empty(t, r.InForce())
	require.NoError(t, r.Set([]api.Rule{
		{Name: "ua", Algorithm: "token_bucket", Limits: []api.Band{
			{Limit: 80, PeriodMS: 600_000}, {Limit: 3, PeriodMS: 5000, Burst: 6},
		}},
		{Name: "crawl", Algorithm: "token_bucket", Limits: []api.Band{{Limit: 1, PeriodMS: 3_600_000}}},
	}, 17))
	require.Equal(t, []api.InspectRule{
		{Name: "crawl", Algorithm: "token_bucket", Limits: []string{"1/1h"}, Revision: 17},
		{Name: "ua", Algorithm: "token_bucket", Limits: []string{"3/5s burst 6", "80/10m"}, Revision: 17},
	}, r.InForce())
}
