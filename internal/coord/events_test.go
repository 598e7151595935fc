package coord_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
)

func refusal(name string) coord.Event {
	return coord.Event{Kind: coord.EventRefused, Noun: "ratelimit", Name: name, Key: "k", Reason: "limit"}
}

func TestRefusalsAreReportedOncePerSecondWithTheirCount(t *testing.T) {
	t.Parallel()
	a := coordtest.NewAudience()
	for range 5 {
		a.Hub.Publish(refusal("r"))
	}
	require.Equal(t, []string{"r 1"}, a.Told(), "the first at once, the others not at all")
	a.Now = a.Now.Add(999 * time.Millisecond)
	a.Hub.Publish(refusal("r"))
	require.Empty(t, a.Told())
	a.Now = a.Now.Add(time.Millisecond)
	a.Hub.Publish(refusal("r"))
	require.Equal(t, []string{"r 6"}, a.Told(), "with the five that were not told")
	a.Now = a.Now.Add(time.Minute)
	require.Empty(t, a.Told(), "nothing is told by itself")
	a.Hub.Publish(refusal("r"))
	require.Equal(t, a.Now, a.Heard[0].At)
	require.Equal(t, []string{"r 1"}, a.Told())
}

func TestOnlyEqualEventsAreSampledTogether(t *testing.T) {
	t.Parallel()
	a := coordtest.NewAudience()
	other := refusal("r")
	other.Key = "another" // keys are unbounded: there may be one for each user
	a.Hub.Publish(refusal("r"))
	a.Hub.Publish(other)
	a.Hub.Publish(refusal("s"))
	paused := refusal("r")
	paused.Reason = "pause"
	a.Hub.Publish(paused)
	degraded := refusal("r")
	degraded.Kind = coord.EventDegraded
	a.Hub.Publish(degraded)
	a.Hub.Publish(degraded)
	lock := refusal("r")
	lock.Noun = "lock"
	a.Hub.Publish(lock)
	require.Equal(t, []string{"r 1", "s 1", "r 1", "r 1", "r 1"}, a.Told())
	for _, kind := range []coord.EventKind{coord.EventLost, coord.EventReloaded, coord.EventDraining} {
		for range 2 {
			a.Hub.Publish(coord.Event{Kind: kind, Name: "n"})
		}
		require.Equal(t, []string{"n 1", "n 1"}, a.Told(), "%s is not sampled", kind)
	}
}

func TestSamplingRemembersABoundedNumberOfNames(t *testing.T) {
	t.Parallel()
	a := coordtest.NewAudience()
	for i := range 3 * coord.MaxBursts {
		a.Hub.Publish(refusal(fmt.Sprint(i)))
	}
	require.Equal(t, coord.MaxBursts, a.Hub.Bursts())
	require.Len(t, a.Told(), 3*coord.MaxBursts)
}

func TestNothingIsRememberedWithoutASubscriber(t *testing.T) {
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

func TestASubscriberGetsTheKindsItFollows(t *testing.T) {
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

// While a follower's kinds are replaced, no event of a kind that it follows before and after is missed or sent twice.
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
