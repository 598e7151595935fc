package luatest

import (
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Call runs a script at now and reads its reply by its contract.
func Call[I, O any](t require.TestingT, s *Store, script lua.Script[I, O], now int64, in I) O {
	keys, args := lua.InputOf(script, in)
	reply, err := s.Eval(script.Source, now, keys, args, lua.StoredReply{})
	require.NoError(t, err, script.Name)
	require.Len(t, reply, len(lua.NamesOf(script.Source, reply)), script.Name)
	out, err := lua.ReadAs(script, reply)
	require.NoError(t, err, script.Name)
	return out
}
