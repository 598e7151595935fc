package coord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestTopologyLimitsConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Limits(t, newSystem(t, url)) })
}

func TestTopologyLocksConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Locks(t, newSystem(t, url)) })
}

func TestTopologySemaphoresConform(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Semaphores(t, newSystem(t, url)) })
}

// Case 29: what users write into names never moves a key away from its latch.
func TestTopologyNamesOfAnyKindStayInOneSlot(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		s := newSystem(t, url).sidecars[0]
		for _, name := range []string{"a{b}c", "{}", "}{", "x:y", "grüße 世界", "nul\x00", "{", "a}b{c"} {
			c := openSession(t, s)
			caller := coord.Caller{Session: c.Session, RequestID: "id:" + name, Fingerprint: "f"}
			g := take(t, s, caller, bound(name, time.Minute))
			require.True(t, g.Acquired, "%q", name)
			d, err := s.limiter.Acquire(t.Context(), caller, by(coord.FailClosed, inFull(name, band(5, time.Hour)), 1))
			require.NoError(t, err, "%q", name)
			require.True(t, d.Allowed)
		}
	})
}

func TestTopologyWaitingConforms(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Waiting(t, newSystem(t, url)) })
}

func TestTopologyAGrantThatReplicasHaveIsKept(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) {
		s := newSystem(t, url).sidecars[0]
		r := bound("replicated", time.Minute)
		r.WaitReplicas = 1
		c := openSession(t, s)
		g := take(t, s, c.caller(), r)
		info, err := s.locks.Get(t.Context(), coord.Caller{}, &api.LockGetParams{Name: r.Name})
		require.NoError(t, err)
		require.Equal(t, g.Fence, info.Fence)
	})
}

func TestTopologyUpstreamConforms(t *testing.T) {
	redistest.Topologies(t, func(t *testing.T, url string) { conformance.Upstream(t, newSystem(t, url)) })
}
