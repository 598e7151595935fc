package coord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTopologyLimitsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Limits(t, coordtest.NewSystem(t, url)) })
}

func TestTopologyLocksConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Locks(t, coordtest.NewSystem(t, url)) })
}

func TestTopologySemaphoresConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Semaphores(t, coordtest.NewSystem(t, url)) })
}

func TestTopologyPoolsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Pools(t, coordtest.NewRulesSystem(t, url, false)) })
}

func TestTopologyPermitsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Permits(t, coordtest.NewRulesSystem(t, url, false)) })
}

func TestTopologyListsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Lists(t, coordtest.NewRulesSystem(t, url, false)) })
}

func TestTopologyExplanationsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		conformance.Explanations(t, coordtest.NewRulesSystem(t, url, false))
	})
}

// No text in a user's name puts a key and its stored reply into different slots.
func TestTopologyNamesOfAnyKindStayInOneSlot(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		s := coordtest.NewSystem(t, url).Sidecars[0]
		for _, name := range []string{"a{b}c", "{}", "}{", "x:y", "grüße 世界", "nul\x00", "{", "a}b{c"} {
			c := coordtest.OpenSession(t, s)
			caller := coord.Caller{Session: c.Session, RequestID: "id:" + name, Fingerprint: "f"}
			g := coordtest.Take(t, s, caller, coordtest.Bound(name, time.Minute))
			require.True(t, g.Acquired, "%q", name)
			d, err := s.Limiter.Acquire(t.Context(), caller, &api.RatelimitParams{
				Algorithm: api.AlgorithmTokenBucket, Key: name, Cost: 1, FailMode: string(coord.FailClosed),
				Limits: []api.Band{{Limit: 5, PeriodMS: time.Hour.Milliseconds()}},
			})
			require.NoError(t, err, "%q", name)
			require.True(t, d.Allowed)
		}
	})
}

func TestTopologyWaitingConforms(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Waiting(t, coordtest.NewSystem(t, url)) })
}

func TestTopologyAGrantThatReplicasHaveIsKept(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		s := coordtest.NewSystem(t, url).Sidecars[0]
		r := coordtest.Bound("replicated", time.Minute)
		r.WaitReplicas = 1
		c := coordtest.OpenSession(t, s)
		g := coordtest.Take(t, s, c.Caller(), r)
		info, err := s.Locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: r.Name})
		require.NoError(t, err)
		require.Equal(t, g.Fence, info.Fence)
	})
}

func TestTopologyUpstreamConforms(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Upstream(t, coordtest.NewSystem(t, url)) })
}
