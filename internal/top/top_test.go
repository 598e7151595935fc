package top_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/top"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sidecar returns a state and a list of locks of many pages, of which only the last has a lock.
type sidecar struct {
	state api.InspectResult
	pages int
}

func (s sidecar) ask(_ context.Context, _ string, params, result any) error {
	switch r := result.(type) {
	case *api.InspectResult:
		*r = s.state
	case *api.LockListResult:
		at, _ := strconv.Atoi(params.(api.LockListParams).Cursor) // empty = the first page
		if at++; at < s.pages {
			r.Cursor = strconv.Itoa(at)
			return nil
		}
		r.Locks = []api.LockEntry{{Name: "nightly", TTLMS: 600_000, HeldBy: &api.Holder{Client: "job", Instance: "1"}}}
	}
	return nil
}

// printed returns the view of locks as text.
func printed(t *testing.T, s sidecar) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, top.Print(t.Context(), &out, s.ask, 1, time.Second, 3))
	return out.String()
}

func TestAPrintedViewIsOfAllPagesUpToABound(t *testing.T) {
	t.Parallel()
	out := printed(t, sidecar{pages: 10})
	require.Regexp(t, `(?m)^nightly +lock +1 +0 +10m +job 1$`, out)
	require.NotContains(t, out, "still looking")
	out = printed(t, sidecar{pages: 11})
	require.NotContains(t, out, "nightly")
	require.Contains(t, out, "\nstill looking: 10 pages so far, and there are more keys\n")
}

func TestDurationsAreShortAndRight(t *testing.T) {
	t.Parallel()
	for uptime, want := range map[time.Duration]string{
		0: "0s", 12 * time.Second: "12.0s", 3 * time.Minute: "3m", 3*time.Minute + 10*time.Second: "3m10s", time.Hour: "1h0m", 26*time.Hour + 20*time.Second: "26h0m20s",
	} {
		out := printed(t, sidecar{state: api.InspectResult{UptimeMS: uptime.Milliseconds()}})
		require.Regexp(t, `^sidecar   pid 0  up `+want+`  `, out)
	}
}
