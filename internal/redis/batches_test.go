package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// For any waiting items: every item is in one run, a run has one script and one number of keys
// and takes at most 2 ms, and items of the same tag stay in their order.
func TestRunsKeepTheOrderOfATag(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) redis.Item {
			tag := rapid.IntRange(0, 3).Draw(t, "tag")
			item := redis.Item{
				Many:  rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "script"),
				Keys:  []string{fmt.Sprintf("{%d}:x", tag), fmt.Sprintf("{%d}:y", tag)},
				Takes: time.Duration(rapid.IntRange(1, 900).Draw(t, "takes")) * time.Microsecond,
			}
			return redis.Item{Many: item.Many, Keys: item.Keys[:rapid.IntRange(1, 2).Draw(t, "keys")], Takes: item.Takes}
		}), 1, 40).Draw(t, "items")
		apart := rapid.Bool().Draw(t, "apart")
		seen := map[int]bool{}
		position := map[byte]int{} // of the last item by its tag
		for _, run := range redis.Arrange(items, apart) {
			first, took := items[run[0]], time.Duration(0)
			if first.Many == "" {
				require.Len(t, run, 1, "a script without a form for many runs alone")
			}
			for _, i := range run {
				item := items[i]
				require.False(t, seen[i])
				seen[i] = true
				require.Equal(t, first.Many, item.Many)
				require.Len(t, item.Keys, len(first.Keys))
				tag := item.Keys[0][1]
				if apart {
					require.Equal(t, first.Keys[0][1], tag)
				}
				if last, ok := position[tag]; ok {
					require.Greater(t, i, last, "it is executed before an earlier item of the same tag")
				}
				position[tag] = i
				took += item.Takes
			}
			if len(run) > 1 {
				require.LessOrEqual(t, took, 2*time.Millisecond)
			}
		}
		require.Len(t, seen, len(items))
	})
}

// Waiting calls of one script go in one run.
func TestCallsOfOneScriptShareARun(t *testing.T) {
	t.Parallel()
	var items []redis.Item
	for i := range 100 {
		items = append(items, redis.Item{Many: "a", Keys: []string{fmt.Sprintf("{%d}", i)}, Takes: time.Microsecond})
	}
	require.Len(t, redis.Arrange(items, false), 1)
	require.Len(t, redis.Arrange(items, true), 100, "keys of several slots")
	for i := range items {
		items[i].Many = []string{"a", "b"}[i%2]
	}
	require.Len(t, redis.Arrange(items, false), 2, "names that differ need no order")
}
