package redis_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// The script's form for many can read each argument of each item from the columns, and an
// argument that is the same for all items is there once.
func TestColumnsHaveEachArgumentOfEachItem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 5).Draw(t, "arguments")
		value := rapid.OneOf(rapid.Map(rapid.Int64Range(0, 2), func(n int64) any { return n }), rapid.Map(rapid.SampledFrom([]string{"", "0", "1"}), func(s string) any { return s }))
		items := rapid.SliceOfN(rapid.SliceOfN(value, width, width), 1, 6).Draw(t, "items")
		all := redis.AppendColumns(nil, len(items), func(i int) []any { return items[i] })
		require.Equal(t, len(items), all[len(all)-1])
		mask, from := all[len(all)-2].(string), 0
		require.Len(t, mask, width)
		for c := range width {
			same := true
			for i := range items {
				at := from
				if mask[c] == '0' {
					at += i
				}
				require.Equal(t, items[i][c], all[at], "argument %d of item %d", c, i)
				same = same && items[i][c] == items[0][c]
			}
			require.Equal(t, same, mask[c] == '1')
			from++
			if !same {
				from += len(items) - 1
			}
		}
		require.Len(t, all, from+2)
	})
}
