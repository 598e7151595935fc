package lease_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// In a call that waits, an earlier attempt may have been granted the lease although its reply was lost. Even if the
// last attempt certainly failed, the call may have been carried out, so what it may have acquired is given back.
func TestAnEarlierAttemptMayHaveBeenServed(t *testing.T) {
	t.Parallel()
	fault := errors.New("a fault")
	for name, c := range map[string]struct {
		attempts []error
		maybe    bool
	}{
		"lost, then a fault":                   {[]error{nil, redis.ErrMaybeExecuted, fault}, true},
		"lost, then not sent, then a fault":    {[]error{nil, redis.ErrMaybeExecuted, redis.ErrUnavailable, fault}, true},
		"lost, then answered, then a fault":    {[]error{nil, redis.ErrMaybeExecuted, nil, fault}, false},
		"a fault, and nothing was lost before": {[]error{nil, fault}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := coordtest.New(t, luatest.Open(t, lua.Options{URL: redis.Embedded}), redistest.Prefix(t))
			var back []string // tokens; empty if only a ticket is given back
			kind := &lease.FakeKind{OnGiveBack: func(_ context.Context, gone []lease.Hold) []error {
				for _, h := range gone {
					back = append(back, h.Token)
				}
				return make([]error, len(gone))
			}}
			err := s.Leases.AcquireFake(t.Context(), s.Lines, kind, c.attempts...)
			require.ErrorIs(t, err, fault)
			var e *coord.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.maybe, e.MaybeExecuted)
			want := ""
			if c.maybe {
				want = "token"
			}
			require.Equal(t, []string{want}, back)
		})
	}
}
