package coord_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coxswain-sidecar/coxswain/client/api"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

func TestErrorsOfScriptsGetTheirCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		code  api.Code
		maybe bool
	}{
		{redis.ErrUnavailable, api.Unavailable, false},
		{redis.ErrMaybeExecuted, api.Unavailable, true},
		{fmt.Errorf("%w: %w", redis.ErrMaybeExecuted, context.Canceled), api.Unavailable, true},
		{context.DeadlineExceeded, api.DeadlineExceeded, false},
		{context.Canceled, api.Cancelled, false},
		{errors.New("WRONGTYPE"), api.Internal, false},
	} {
		e := coord.Failed("lock a: acquire", fmt.Errorf("script x: %w", c.err))
		require.Equal(t, c.code, coord.Wire(e).Code, "%v", c.err)
		require.Equal(t, c.maybe, e.MaybeExecuted, "%v", c.err)
		require.ErrorIs(t, e, c.err)
		require.Equal(t, "lock a: acquire: script x: "+c.err.Error(), e.Error())
	}
	conflict := coord.Failed("lock a: acquire", fmt.Errorf("script x: %w", lua.ErrConflict))
	require.Equal(t, api.Conflict, conflict.Code)
	require.ErrorIs(t, conflict, lua.ErrConflict)
	require.NotContains(t, conflict.Err.Error(), "script x", "the caller reads it")
	require.Equal(t, api.Internal, coord.Wire(new(coord.Error)).Code, "no code is never the caller's mistake")
}
