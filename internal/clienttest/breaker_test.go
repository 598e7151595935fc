package clienttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// BreakerDo reports the outcome of each call: ignored errors and cancelled calls are no failures, a panic is one.
func TestBreakerDoReportsWhatBecameOfTheCall(t *testing.T) {
	t.Parallel()
	c := dial(t, live(t), client.Options{})
	boom, ours := errors.New("boom"), errors.New("refused by our own limit")
	o := client.BreakerOptions{Policy: "quick-*", IsIgnored: func(err error) bool { return errors.Is(err, ours) }}
	do := func(ctx context.Context, err error) error {
		return c.BreakerDo(ctx, "b", o, func(context.Context) error { return err })
	}
	failures := func() int64 {
		r, err := c.BreakerGet(t.Context(), api.BreakerParams{Name: "b"})
		require.NoError(t, err)
		return r.Failures
	}
	require.ErrorIs(t, do(t.Context(), boom), boom)
	require.ErrorIs(t, do(t.Context(), ours), ours)
	gone, cancel := context.WithCancel(t.Context())
	err := c.BreakerDo(gone, "b", o, func(ctx context.Context) error { cancel(); return ctx.Err() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(1), failures(), "neither our own refusals nor cancelled callers are failures")
	require.NoError(t, do(t.Context(), nil))
	require.Zero(t, failures())

	require.PanicsWithValue(t, "panic", func() {
		_ = c.BreakerDo(t.Context(), "b", o, func(context.Context) error { panic("panic") })
	})
	require.Equal(t, int64(1), failures())
	require.Error(t, do(t.Context(), boom))
	require.Error(t, do(t.Context(), boom))
	var open *client.OpenError
	err = c.BreakerDo(t.Context(), "b", o, func(context.Context) error { t.Error("it was called"); return nil })
	require.ErrorIs(t, err, client.ErrOpen)
	require.ErrorAs(t, err, &open)
	require.Equal(t, "b", open.Name)
	require.Equal(t, api.BreakerOpen, open.State)
	require.LessOrEqual(t, open.RetryAfter, 10500*time.Millisecond)

	_, err = c.BreakerForce(t.Context(), api.BreakerForceParams{Name: "b", State: api.BreakerOpen})
	require.NoError(t, err)
	require.EqualError(t, do(t.Context(), nil), "breaker b: forced_open until it is reset")
	_, err = c.BreakerReset(t.Context(), api.BreakerParams{Name: "b"})
	require.NoError(t, err)
	require.NoError(t, do(t.Context(), nil))
}
