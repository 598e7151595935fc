package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

func TestEveryErrorHasItsCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.7:6379: AUTH hunter2")
	for name, c := range map[string]struct {
		err   error
		code  api.Code
		says  string
		retry bool
	}{
		"the caller's mistake": {&coord.Error{Code: api.InvalidArgument, Op: "params", Err: errors.New("cost: too much\nburst: too little")}, api.InvalidArgument, "cost: too much; burst: too little", false},
		"not found":            {&coord.Error{Code: api.NotFound, Err: errors.New("no rule")}, api.NotFound, "no rule", false},
		"precondition":         {&coord.Error{Code: api.FailedPrecondition, Err: errors.New("no")}, api.FailedPrecondition, "no", false},
		"permission":           {&coord.Error{Code: api.PermissionDenied, Err: errors.New("no")}, api.PermissionDenied, "no", false},
		"conflict":             {&coord.Error{Code: api.Conflict, Err: errors.New("used before")}, api.Conflict, "used before", false},
		"redis is away":        {&coord.Error{Code: api.Unavailable, Op: "lock a", Err: cause}, api.Unavailable, "nothing was done", true},
		"a lost reply":         {&coord.Error{Code: api.Unavailable, Err: cause, MaybeExecuted: true}, api.Unavailable, "maybe executed: redis", true},
		"redis refuses":        {&coord.Error{Code: api.Unavailable, Err: cause, Trouble: &coord.Trouble{Name: "oom", Words: "redis is out of memory", Remedy: "raise maxmemory", Err: cause}}, api.Unavailable, "redis is out of memory, and nothing was done; raise maxmemory", true},
		"draining":             {&coord.Error{Code: api.Draining, Err: cause}, api.Draining, "shutting down", true},
		"out of time":          {&coord.Error{Code: api.DeadlineExceeded, Err: cause}, api.DeadlineExceeded, "_deadline_ms", true},
		"cancelled":            {&coord.Error{Code: api.Cancelled, Err: cause}, api.Cancelled, "cancelled", false},
		"a fault":              {&coord.Error{Code: api.Internal, Err: cause}, api.Internal, "log", false},
		"a code of tomorrow":   {&coord.Error{Code: "TOMORROW", Err: cause}, api.Internal, "log", false},
		"wrapped":              {fmt.Errorf("step: %w", &coord.Error{Code: api.NotFound, Err: errors.New("no rule")}), api.NotFound, "no rule", false},
		"a foreign error":      {cause, api.Internal, "log", false},
		"a context's end":      {fmt.Errorf("x: %w", context.DeadlineExceeded), api.DeadlineExceeded, "_deadline_ms", true},
		"a context's cancel":   {context.Canceled, api.Cancelled, "cancelled", false},
	} {
		e := coord.Wire(c.err)
		require.Equal(t, c.code, e.Code, name)
		require.Contains(t, e.Message, c.says, name)
		require.Equal(t, c.retry, e.Retryable, name)
		require.NotContains(t, e.Error(), "hunter2", name)
		require.NotContains(t, e.Error(), "10.0.0.7", name)
	}
}

func TestMaybeExecutedIsInBothFormsOfErrors(t *testing.T) {
	t.Parallel()
	lost := &coord.Error{Code: api.Unavailable, Err: errors.New("x"), MaybeExecuted: true}
	e := coord.Wire(lost)
	require.Contains(t, e.Error(), "UNAVAILABLE: maybe executed: ")
	require.True(t, e.MaybeExecuted())
	require.Contains(t, string(rpc.AppendError(e, true)), "maybe_executed")

	cancelled := rpc.CancelledError(lost)
	require.Equal(t, api.Cancelled, cancelled.Code)
	require.True(t, cancelled.MaybeExecuted())
	require.False(t, rpc.CancelledError(context.Canceled).MaybeExecuted())
}

func TestTheTroubleIsNamedInBothForms(t *testing.T) {
	t.Parallel()
	cause := &coord.Error{Code: api.Unavailable, Err: errors.New("x"), Trouble: &coord.Trouble{Name: "oom", Words: "redis is out of memory"}}
	e := coord.Wire(cause)
	require.Equal(t, "oom", e.Trouble())
	require.False(t, e.MaybeExecuted())
	require.Contains(t, string(rpc.AppendError(e, true)), "\xa7details\x81\xa7trouble\xa3oom")
	require.Contains(t, string(rpc.AppendError(e, false)), "UNAVAILABLE: redis is out of memory")
	cause.MaybeExecuted = true
	e = coord.Wire(cause)
	require.Contains(t, e.Message, "maybe executed: redis is out of memory")
	require.Contains(t, string(rpc.AppendError(e, true)), "\xa7details\x82")
}

func TestAFaultThatEveryCallMeetsIsLoggedOnceInAWhile(t *testing.T) {
	t.Parallel()
	take, start := rpc.Faults(), time.Now()
	logged := 0
	for range 1000 {
		if _, ok := take("lock.acquire", start); ok {
			logged++
		}
	}
	require.Equal(t, 1, logged)
	_, ok := take("lock.get", start)
	require.True(t, ok, "each method for itself")
	dropped, ok := take("lock.acquire", start.Add(time.Minute))
	require.True(t, ok)
	require.Equal(t, 999, dropped)
}

func TestErrorsAreValidText(t *testing.T) {
	t.Parallel()
	b := rpc.AppendError(&api.Error{Code: api.NotFound, Message: "no rule \xff"}, false)
	require.Equal(t, "\x92\x01\xb7NOT_FOUND: no rule \\xff", string(b))
}
