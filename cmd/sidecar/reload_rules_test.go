package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A rule of a file and one in Redis under one name: which one is in force follows
// the file, both ways.
func TestPrecedenceChangesWithoutARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.yaml")
	put(t, file, ruled("a"))
	s := reloading(t, file)
	r := call(t, s.socket, "ratelimit.put_rule", `{"rule":{"name":"a","algorithm":"token_bucket","limits":[{"limit":50,"period_ms":1000}]}}`)
	require.Equal(t, true, r["hidden"])
	is := func(want float64, why string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return call(t, s.socket, "ratelimit.peek", `{"rule":"a","key":"k"}`)["limit"] == want
		}, limit, 5*time.Millisecond, why)
	}
	is(5, "the file's")
	replace(t, file, strings.Replace(ruled("a"), "rules:\n", "rules:\n  precedence: redis\n", 1))
	is(50, "the one in redis")
	require.Equal(t, "redis", call(t, s.socket, "ratelimit.rules", "{}")["precedence"])
	replace(t, file, ruled("a"))
	is(5, "the file's again")
	require.Equal(t, true, call(t, s.socket, "ratelimit.delete_rule", `{"name":"a"}`)["deleted"])
	is(5, "there is no other any more")
}
