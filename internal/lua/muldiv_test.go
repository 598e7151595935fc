package lua_test

import (
	"context"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// TestMuldivIsExact tests the long multiplication of scripts over its whole range.
func TestMuldivIsExact(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("lib/muldiv.lua")
	require.NoError(t, err)
	script := string(text) + `
local out = {}
for i = 1, #ARGV, 4 do
  local q, r = muldiv(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
  out[#out + 1], out[#out + 2] = q, r
end
return out`
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		rng := rand.New(rand.NewPCG(3, 4))
		// Most draws are near the end of a range, where products are largest.
		draw := func(end int64) int64 { return max(end-1-rng.Int64N(1+rng.Int64N(end)), 0) }
		type division struct{ q, rest int64 }
		var args []any
		var want []division
		for len(want) < 2000 {
			a, b, m := draw(1<<53), draw(1<<45), 1+draw(1<<45-1)
			r := draw(m)
			x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			q, rest := x.Add(x, big.NewInt(r)).QuoRem(x, big.NewInt(m), new(big.Int))
			if q.BitLen() > 53 {
				continue
			}
			args = append(args, a, b, m, r)
			want = append(want, division{q.Int64(), rest.Int64()})
		}
		reply, err := s.Client.Eval(context.Background(), script, nil, args...).Int64Slice()
		require.NoError(t, err)
		for i, w := range want {
			require.Equal(t, w, division{reply[2*i], reply[2*i+1]}, "%v", args[4*i:4*i+4])
		}
	})
}
