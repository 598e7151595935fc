package conformance

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// editedGrant: whatever its holder changes in a grant, no more is credited than was taken.
func editedGrant(l limiter) {
	band := per(1000, time.Hour)
	others := l.acquire(900, band)
	grant := l.acquire(1, band).Grant
	parts := strings.SplitN(grant, ".", 7)
	require.Len(l.t, parts, 7)
	for i, text := range map[int]string{1: strings.ToLower(parts[1]) + "0", 3: "100", 4: parts[4] + "0", 5: ""} {
		edited := append([]string{}, parts...)
		edited[i] = text
		require.Equal(l.t, "expired", l.refund(l.client, strings.Join(edited, ".")).Reason, "nothing is known of it")
	}
	stripped := append([]string{"1"}, parts[1:5]...)
	stripped[3] = "100"
	require.Equal(l.t, "expired", l.refund(l.client, strings.Join(append(stripped, parts[6]), ".")).Reason, "without a seal")
	spliced := strings.SplitN(others.Grant, ".", 7)
	spliced[1] = parts[1]
	require.Equal(l.t, "expired", l.refund(l.client, strings.Join(spliced, ".")).Reason, "with the seal of another")
	require.Equal(l.t, int64(99), l.peek(1, band).Remaining)
	require.Equal(l.t, "refunded", l.refund(l.other().client, grant).Reason, "as it was, in any sidecar")
	require.Equal(l.t, int64(100), l.peek(1, band).Remaining)
}

// longestGrant: every grant that is given out is accepted, however long it is.
func longestGrant(r ruled) {
	long := strings.Repeat(":", api.MaxNameBytes)
	rule := bucket(long, 1)
	for i := range api.MaxBands - 1 {
		rule.Limits = append(rule.Limits, api.Band{Limit: 999_999_937 - int64(i), PeriodMS: 31_622_399_999 - int64(i)})
	}
	rule.MaxConcurrent = 10
	r.put(0, rule)
	take := func() string {
		d, err := do(patient(r.t), r.at[0], "", api.RatelimitAcquire, api.RatelimitParams{Rule: long, Key: long, Cost: 1})
		require.NoError(r.t, err)
		require.True(r.t, d.Allowed, "%s", d.DeniedBy)
		require.True(r.t, d.Held)
		return d.Grant
	}
	refund := func(grant string) {
		back, err := do(patient(r.t), r.at[0], "", api.RatelimitRefund, api.RatelimitGrantParams{Grant: grant})
		require.NoError(r.t, err)
		require.Equal(r.t, "refunded", back.Reason)
	}
	refund(take())
	grant := take()
	_, err := do(patient(r.t), r.at[0], "", api.RatelimitReport, api.RatelimitReportParams{Rule: long, Key: long, Grant: grant, Status: 200})
	require.NoError(r.t, err)
	refund(grant)
	inFull := api.RatelimitParams{Algorithm: api.AlgorithmSlidingWindowCounter, Key: long, Cost: 1}
	for i := range api.MaxBands {
		inFull.Limits = append(inFull.Limits, api.Band{Limit: 999_999_937 - int64(i), PeriodMS: 31_622_399_999 - int64(i)})
	}
	d, err := do(patient(r.t), r.at[0], "", api.RatelimitAcquire, inFull)
	require.NoError(r.t, err)
	refund(d.Grant)
}
