package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Many tests what ratelimit.acquire_many and acquire_any promise.
func Many(t *testing.T, sys System) {
	for name, test := range map[string]func(limiter){
		"many are answered in their order":           manyAreInOrder,
		"what fails alone is its own failure":        oneFailsAlone,
		"atomic takes all or none":                   atomicAllOrNone,
		"atomic wants one limit":                     atomicWantsOneLimit,
		"many count once under a request id":         manyCountOnce,
		"the numbers of items and keys have bounds":  manyHaveBounds,
		"any takes the first that may go":            anyTakesTheFirst,
		"any tells which may go soonest":             anyTellsTheSoonest,
		"any takes once under a request id":          anyTakesOnce,
		"any of two sidecars takes no more than all": anyOfTwoSidecars,
	} {
		t.Run(name, func(t *testing.T) {
			test(limiter{t: t, sys: sys, client: sys.Connect(t, 0, "limits"), key: t.Name(), algorithm: api.AlgorithmTokenBucket})
		})
	}
}

// item is one of many under a key of the test's own.
func (l limiter) item(key string, cost int64, bands ...api.Band) api.RatelimitItem {
	return api.RatelimitItem{Algorithm: l.algorithm, Limits: bands, Key: l.key + key, Cost: cost}
}

// acquireMany returns only the results.
func acquireMany(ctx context.Context, c Client, id string, p api.RatelimitManyParams) ([]api.RatelimitItemResult, error) {
	r, err := do(ctx, c, id, api.RatelimitAcquireMany, p)
	return r.Results, err
}

// many acquires, and expects the call itself not to fail.
func (l limiter) many(id string, atomic bool, items ...api.RatelimitItem) []api.RatelimitItemResult {
	l.t.Helper()
	r, err := acquireMany(patient(l.t), l.client, id, api.RatelimitManyParams{Items: items, Atomic: atomic})
	require.NoError(l.t, err)
	require.Len(l.t, r, len(items))
	return r
}

// left returns how much a key has left of a limit.
func (l limiter) left(key string, band api.Band) int64 {
	l.t.Helper()
	l.key += key
	return l.peek(0, band).Remaining
}

func manyAreInOrder(l limiter) {
	var items []api.RatelimitItem
	for i := range api.MaxItems {
		key := fmt.Sprint(i)
		if i%10 == 0 {
			key = "again"
		}
		items = append(items, l.item(key, 1, per(5, time.Hour)))
	}
	again := int64(0)
	for i, r := range l.many("", false, items...) {
		require.Nil(l.t, r.Error)
		require.NotNil(l.t, r.Result)
		if i%10 > 0 {
			require.True(l.t, r.Result.Allowed)
			require.Equal(l.t, int64(4), r.Result.Remaining)
			continue
		}
		require.Equal(l.t, again < 5, r.Result.Allowed, "those of one key are let through in their order")
		again++
	}
	require.Equal(l.t, int64(10), again)
}

func oneFailsAlone(l limiter) {
	ok := per(5, time.Hour)
	bad := l.item("b", 1)
	bad.Limits = nil
	unknown := api.RatelimitItem{Rule: "none", Key: "k", Cost: 1}
	r := l.many("", false, l.item("a", 1, ok), bad, unknown, l.item("c", 6, ok), l.item("c", 5, ok))
	require.True(l.t, r[0].Result.Allowed)
	require.Nil(l.t, r[1].Result)
	require.Equal(l.t, string(api.InvalidArgument), r[1].Error.Code)
	require.Contains(l.t, r[1].Error.Message, "limits: missing")
	require.Equal(l.t, string(api.NotFound), r[2].Error.Code)
	require.Equal(l.t, int64(-1), r[3].Result.RetryAfterMS)
	require.True(l.t, r[4].Result.Allowed)
}

func atomicAllOrNone(l limiter) {
	band := per(10, time.Hour)
	items := func(costs ...int64) (all []api.RatelimitItem) {
		for i, c := range costs {
			it := l.item(fmt.Sprint(i), c, band)
			it.Group = l.key
			all = append(all, it)
		}
		return all
	}
	r := l.many("", true, items(3, 4)...)
	require.True(l.t, r[0].Result.Allowed)
	require.Equal(l.t, r[0], r[1], "one decision")
	require.Equal(l.t, int64(3), r[0].Result.Remaining)
	for _, x := range l.many("", true, items(1, 2, 1)...) {
		require.False(l.t, x.Result.Allowed, "2 and 1 would fit alone")
		require.Equal(l.t, int64(360_000), x.Result.RetryAfterMS)
	}
	require.Equal(l.t, int64(3), l.left("", band), "and nothing of it was taken")
	require.True(l.t, l.many("", true, items(1, 1, 1)...)[2].Result.Allowed)
}

func atomicWantsOneLimit(l limiter) {
	band := per(10, time.Hour)
	closed := l.item("a", 1, band)
	closed.FailMode = "closed"
	negative := l.item("a", -1, band)
	for want, second := range map[string]api.RatelimitItem{
		"items[1]: it counts apart from items[0]; with atomic all have one rule and one group": l.item("b", 1, band),
		"items[1]: it counts apart": l.item("a", 1, per(11, time.Hour)),
		"items[1].fail_mode":        closed,
		"items[1].cost":             negative,
		"items: they cost 1000000001 together; with atomic at most 1000000000": l.item("a", 1_000_000_000, band),
	} {
		_, err := acquireMany(patient(l.t), l.client, "", api.RatelimitManyParams{
			Items: []api.RatelimitItem{l.item("a", 1, band), second}, Atomic: true,
		})
		require.ErrorIs(l.t, err, api.InvalidArgument, want)
		require.ErrorContains(l.t, err, want)
	}
	require.Equal(l.t, int64(10), l.left("a", band))
}

func manyCountOnce(l limiter) {
	band := per(10, time.Hour)
	items := []api.RatelimitItem{l.item("a", 1, band), l.item("b", 2, band), l.item("a", 3, band)}
	first := l.many("many", false, items...)
	other := l
	other.client = l.sys.Connect(l.t, 1, "limits")
	for _, again := range [][]api.RatelimitItemResult{l.many("many", false, items...), other.many("many", false, items...)} {
		for i := range again {
			require.True(l.t, again[i].Result.Replayed)
			again[i].Result.Replayed = false
		}
		require.Equal(l.t, first, again)
	}
	require.Equal(l.t, int64(6), l.left("a", band))
	require.Equal(l.t, int64(8), l.left("b", band))
}

func manyHaveBounds(l limiter) {
	for want, n := range map[string]int{"there are 0; give 1 to 100": 0, "there are 101; give 1 to 100": 101} {
		items, keys := []api.RatelimitItem{}, []string{}
		for range n {
			items, keys = append(items, l.item("a", 1, per(1, time.Hour))), append(keys, "a")
		}
		_, err := acquireMany(patient(l.t), l.client, "", api.RatelimitManyParams{Items: items})
		require.ErrorIs(l.t, err, api.InvalidArgument)
		require.ErrorContains(l.t, err, "items: "+want)
		_, err = do(patient(l.t), l.client, "", api.RatelimitAcquireAny, l.anyOf(1, per(1, time.Hour), keys...))
		require.ErrorIs(l.t, err, api.InvalidArgument)
		require.ErrorContains(l.t, err, "keys: "+want)
	}
}

func (l limiter) anyOf(cost int64, band api.Band, keys ...string) api.RatelimitAnyParams {
	return api.RatelimitAnyParams{Algorithm: l.algorithm, Limits: []api.Band{band}, Keys: keys, Cost: cost}
}

// any acquires for one of the keys.
func (l limiter) any(id string, p api.RatelimitAnyParams) api.RatelimitAnyResult {
	l.t.Helper()
	r, err := do(patient(l.t), l.client, id, api.RatelimitAcquireAny, p)
	require.NoError(l.t, err)
	return r
}

func (l limiter) keys(names ...string) []string {
	for i, n := range names {
		names[i] = l.key + n
	}
	return names
}

func anyTakesTheFirst(l limiter) {
	p := l.anyOf(2, per(4, time.Hour), l.keys("a", "b", "c")...)
	for i, want := range []string{"a", "a", "b", "b", "c", "c"} {
		r := l.any("", p)
		require.Equal(l.t, l.key+want, r.Key, "%d", i)
		require.True(l.t, r.Result.Allowed)
		require.NotEmpty(l.t, r.Result.Grant)
	}
	require.False(l.t, l.any("", p).Result.Allowed)
	_, err := do(patient(l.t), l.client, "", api.RatelimitAcquireAny, l.anyOf(1, per(4, time.Hour), "a", ""))
	require.ErrorIs(l.t, err, api.InvalidArgument)
	require.ErrorContains(l.t, err, "keys[1]: ")
}

func anyTellsTheSoonest(l limiter) {
	band := per(4, 4*time.Hour)
	for key, cost := range map[string]int64{"a": 4, "b": 3, "c": 4} {
		c := l
		c.key += key
		c.acquire(cost, band)
	}
	r := l.any("", l.anyOf(2, band, l.keys("a", "b", "c")...))
	require.Equal(l.t, l.key+"b", r.Key)
	require.False(l.t, r.Result.Allowed)
	require.Equal(l.t, int64(3_600_000), r.Result.RetryAfterMS)
	require.Equal(l.t, "limit", r.Result.DeniedBy)
	r = l.any("", l.anyOf(2, band, l.keys("c", "a")...))
	require.Equal(l.t, l.key+"c", r.Key, "of two that are as soon the preferred")
	r = l.any("", l.anyOf(5, band, l.keys("a", "b")...))
	require.Equal(l.t, l.key+"a", r.Key)
	require.Equal(l.t, int64(-1), r.Result.RetryAfterMS)
}

func anyTakesOnce(l limiter) {
	band := per(1, time.Hour)
	p := l.anyOf(1, band, l.keys("a", "b", "c")...)
	first := l.any("any", p)
	require.Equal(l.t, l.key+"a", first.Key)
	other := l
	other.client = l.sys.Connect(l.t, 1, "limits")
	for _, again := range []api.RatelimitAnyResult{l.any("any", p), other.any("any", p)} {
		require.True(l.t, again.Result.Replayed)
		again.Result.Replayed = false
		require.Equal(l.t, first, again)
	}
	require.Equal(l.t, l.key+"b", l.any("other", p).Key)
	again := l.any("other", p)
	require.Equal(l.t, l.key+"b", again.Key)
	require.True(l.t, again.Result.Replayed)
	require.Equal(l.t, int64(1), l.left("c", band))
}

func anyOfTwoSidecars(l limiter) {
	p := l.anyOf(1, per(10, time.Hour), l.keys("a", "b", "c")...)
	other := l.sys.Connect(l.t, 1, "limits")
	results := make(chan bool, 60)
	for i := range 60 {
		c := []Client{l.client, other}[i%2]
		go func() {
			r, err := do(patient(l.t), c, "", api.RatelimitAcquireAny, p)
			if err != nil {
				l.t.Error(err)
			}
			results <- r.Result.Allowed
		}()
	}
	allowed := 0
	for range 60 {
		if <-results {
			allowed++
		}
	}
	require.Equal(l.t, 30, allowed)
}
