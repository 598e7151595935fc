package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

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
		l.LookupFake("a")(lease.ReasonNotOwner)
		require.Equal(t, []coord.Event{{
			Kind: coord.EventLost, At: time.Now(), Noun: "fake", Name: "a", Reason: "not_owner", Count: 1,
			Detail: `session ` + w.ID + ` of client "billing", instance "pod-7"`,
		}}, heard)
	})
}

func TestLeasesOfASessionAreListed(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		held, more := l.HeldBy(w.Session, 10)
		require.Empty(t, held)
		require.Zero(t, more)
		w.Bind(&n.FakeKind, "b", ttl)
		w.Bind(&n.FakeKind, "a", ttl)
		w.Ambiguous(&n.FakeKind, "who knows", ttl)
		time.Sleep(time.Second) // by the bubble's clock
		held, more = l.HeldBy(w.Session, 10)
		require.Zero(t, more)
		left := ttl - ttl/100 - 2*time.Millisecond - time.Second
		require.Equal(t, []lease.HeldInfo{{Noun: "fake", Name: "a", Left: left, Fence: 7}, {Noun: "fake", Name: "b", Left: left, Fence: 7}}, held)
		held, more = l.HeldBy(w.Session, 1)
		require.Len(t, held, 1)
		require.Equal(t, 1, more)
	})
}
