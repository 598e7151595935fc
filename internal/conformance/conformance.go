// Package conformance is what limits and locks promise their clients, as tests
// over an interface: they run directly on package coord, and again through a
// real socket with the Go client. It is for tests only.
//
// Its invariant: a suite sees nothing but wire parameters and results, and time
// passes only where it says so, so that no outcome depends on a slow machine.
package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// System is what is tested: two sidecars on one store.
type System interface {
	// Connect opens a client of sidecar 0 or 1, which introduces itself by that
	// name and the instance "conformance". It is closed when the test ends, if
	// not before.
	Connect(t testing.TB, sidecar int, name string) Client
	// Advance moves the clock that limits are decided by, in scripts and sidecars,
	// which otherwise stands still (see Clock). What is held goes by the real one.
	Advance(d time.Duration)
	// Now is what that clock shows.
	Now() time.Time
}

// Client is one connection. A request id may be empty; parameters are sent as
// they are, so that zero values are absent and get the wire's defaults.
type Client interface {
	RatelimitAcquire(ctx context.Context, requestID string, p api.RatelimitParams) (api.RatelimitResult, error)
	RatelimitPeek(ctx context.Context, p api.RatelimitParams) (api.RatelimitResult, error)
	RatelimitAcquireMany(ctx context.Context, requestID string, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error)
	RatelimitAcquireAny(ctx context.Context, requestID string, p api.RatelimitAnyParams) (api.RatelimitAnyResult, error)
	RatelimitRefund(ctx context.Context, grant string) (api.RatelimitRefundResult, error)
	RatelimitReset(ctx context.Context, p api.RatelimitResetParams) (api.RatelimitResetResult, error)
	RatelimitReport(ctx context.Context, requestID string, p api.RatelimitReportParams) (api.RatelimitReportResult, error)
	RatelimitPause(ctx context.Context, p api.RatelimitPauseParams) (api.RatelimitPauseResult, error)
	RatelimitResume(ctx context.Context, p api.RatelimitResumeParams) (api.RatelimitResumeResult, error)
	RatelimitSetDelay(ctx context.Context, p api.RatelimitSetDelayParams) (api.RatelimitSetDelayResult, error)

	LockAcquire(ctx context.Context, requestID string, p api.LockAcquireParams) (api.LockAcquireResult, error)
	LockRenew(ctx context.Context, p api.LockRenewParams) (api.LockRenewResult, error)
	LockRelease(ctx context.Context, p api.LockReleaseParams) (api.LockReleaseResult, error)
	LockGet(ctx context.Context, p api.LockGetParams) (api.LockGetResult, error)
	LockList(ctx context.Context, p api.LockListParams) (api.LockListResult, error)
	LockForceRelease(ctx context.Context, p api.LockForceReleaseParams) (api.LockForceReleaseResult, error)

	BreakerAllow(ctx context.Context, requestID string, p api.BreakerAllowParams) (api.BreakerAllowResult, error)
	BreakerReport(ctx context.Context, requestID string, p api.BreakerReportParams) (api.BreakerReportResult, error)
	BreakerGet(ctx context.Context, p api.BreakerParams) (api.BreakerGetResult, error)
	BreakerReset(ctx context.Context, p api.BreakerParams) (api.BreakerChangeResult, error)
	BreakerForce(ctx context.Context, p api.BreakerForceParams) (api.BreakerChangeResult, error)

	SemaphoreAcquire(ctx context.Context, requestID string, p api.SemaphoreAcquireParams) (api.SemaphoreAcquireResult, error)
	SemaphoreRenew(ctx context.Context, p api.SemaphoreRenewParams) (api.SemaphoreRenewResult, error)
	SemaphoreRelease(ctx context.Context, p api.SemaphoreReleaseParams) (api.SemaphoreReleaseResult, error)
	SemaphoreGet(ctx context.Context, p api.SemaphoreGetParams) (api.SemaphoreGetResult, error)

	QueueEnqueue(ctx context.Context, p api.QueueEnqueueParams) (api.QueueEnqueueResult, error)
	QueueDequeue(ctx context.Context, requestID string, p api.QueueDequeueParams) (api.QueueDequeueResult, error)
	QueueAck(ctx context.Context, p api.QueueLeaseParams) (api.QueueAckResult, error)
	QueueRelease(ctx context.Context, p api.QueueLeaseParams) (api.QueueReleaseResult, error)
	QueueRenew(ctx context.Context, p api.QueueRenewParams) (api.QueueRenewResult, error)
	QueuePosition(ctx context.Context, p api.QueueEntryParams) (api.QueuePositionResult, error)
	QueueCancel(ctx context.Context, p api.QueueEntryParams) (api.QueueCancelResult, error)
	QueueStats(ctx context.Context, p api.QueueParams) (api.QueueStatsResult, error)

	SeenReserve(ctx context.Context, requestID string, p api.SeenReserveParams) (api.SeenReserveResult, error)
	SeenCommit(ctx context.Context, p api.SeenCommitParams) (api.SeenCommitResult, error)
	SeenRelease(ctx context.Context, p api.SeenReleaseParams) (api.SeenReleaseResult, error)

	// Lost delivers what each notification of a loss says to this connection.
	Lost() <-chan api.LostParams
	// Close ends the connection. What it held may be given back a little later.
	Close()
}

// patience ends a wait for what never comes. No outcome depends on it.
const patience = 30 * time.Second

// patient is a context whose deadline no call comes near on a slow machine, where the
// one that a client gives a call by itself may be over before Redis is asked.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// nasty names are those that a careless key would confuse or a cluster misplace.
var nasty = []string{
	"a", "a{b}c", "{}", "}{", "{a}", "x:y", "x", "y", ":", "%", "%3A", "a%7Bb%7Dc", "", // the last is replaced by 512 bytes
	"grüße 世界", "nul\x00", "nul", "a\nb", " ", "v1", "lock", "rl",
}

func names() []string {
	long := make([]byte, api.MaxNameBytes)
	for i := range long {
		long[i] = 'n'
	}
	all := append([]string(nil), nasty...)
	for i, n := range all {
		if n == "" {
			all[i] = string(long)
		}
	}
	return all
}
