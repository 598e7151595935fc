package coordtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// Bound returns the params of a lock that ends with its session.
func Bound(name string, ttl time.Duration) *api.LockAcquireParams {
	return &api.LockAcquireParams{Name: name, TTLMS: ttl.Milliseconds(), Bind: api.BindSession}
}

// Unbound returns the params of a lock that only its TTL ends.
func Unbound(name string, ttl time.Duration) *api.LockAcquireParams {
	return &api.LockAcquireParams{Name: name, TTLMS: ttl.Milliseconds(), Bind: api.BindTTL}
}

// Take acquires a lock that is free.
func Take(t *testing.T, s *Sidecar, c coord.Caller, p *api.LockAcquireParams) api.LockAcquireResult {
	t.Helper()
	g, err := s.Locks.Acquire(t.Context(), c, p)
	require.NoError(t, err)
	require.True(t, g.Acquired)
	return g
}

// Number returns a fence as a number.
func Number(t *testing.T, fence string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(fence, 10, 64)
	require.NoError(t, err)
	return n
}
