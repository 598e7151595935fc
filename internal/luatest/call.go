package luatest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Call runs a script at now and reads its reply by its descriptor.
func Call[I, O any](t require.TestingT, s *Store, script lua.Script[I, O], now int64, in I) O {
	keys, args := lua.InputOf(script, in)
	reply, err := s.Eval(script.Source, now, keys, args, lua.Latch{})
	require.NoError(t, err, script.Name)
	if returns, repeats := fixedReturns(script.Source); repeats {
		require.GreaterOrEqual(t, len(reply), len(returns), script.Name)
	} else {
		require.Len(t, reply, len(returns), script.Name)
	}
	out, err := lua.ReadAs(script, reply)
	require.NoError(t, err, script.Name)
	return out
}

// fixedReturns are the values that every reply of a script has, and whether others
// may follow, as many as the last of them says.
func fixedReturns(src *lua.Source) (names []string, repeats bool) {
	if i := slices.Index(src.Returns, "then"); i >= 0 {
		return src.Returns[:i], true
	}
	return src.Returns, false
}
