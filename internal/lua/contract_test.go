package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// TestReturnedNamesBecomeAList: what is not known well enough to rewrite stays.
func TestReturnedNamesBecomeAList(t *testing.T) {
	t.Parallel()
	type out struct {
		State int64
		Held  bool
		Who   string
	}
	for _, c := range []struct{ body, want string }{
		{"return {state = 1}", "return {(1) or 0, 0, ''}"},
		{"if x then return {} end", "if x then return {0, 0, ''} end"},
		{
			"return {\n  who = f(a, {b, '}'}), held = not a,\n  state = s[1],\n}, true",
			"return {(s[1]) or 0, (not a) and 1 or 0, (f(a, {b, '}'})) or ''}, true",
		},
		{"return {state = 1, other = 2}", "return {state = 1, other = 2}"},
		{"return {1, 0, ''}", "return {1, 0, ''}"},
		{"return {who = '\\''}", "return {who = '\\''}"},
		{"return {state = redis.call('GET', k)}", "return {state = redis.call('GET', k)}"},
		{"local function f() return {state = 1} end", "local function f() return {state = 1} end"},
		{"return state", "return state"},
	} {
		require.Equal(t, c.want, lua.Unnamed[out](c.body))
	}
	type list struct{ Items []out }
	require.Equal(t, "return {items = i}", lua.Unnamed[list]("return {items = i}"))
}
