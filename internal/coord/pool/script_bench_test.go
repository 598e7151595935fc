package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// BenchmarkPermit is what a permit costs, taken and reported, by how many members
// the pool has, while all but the one that is free are out of tokens.
func BenchmarkPermit(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, tokenless := range []bool{false, true} {
			b.Run(fmt.Sprintf("members=%d/tokenless=%t", n, tokenless), func(b *testing.B) {
				benchmarkPermit(b, n, tokenless)
			})
		}
	}
}

func benchmarkPermit(b *testing.B, n int, tokenless bool) {
	prefix := "{" + redistest.Prefix(b) + "}"
	p := &poolRun{s: &luatest.Store{Prefix: strings.Trim(prefix, "{}")}, name: "p"}
	r := luatest.Open(b, lua.Options{URL: redistest.URL(b)})
	put := pool.PutIn{Pool: p.keys(), Most: 10_000}
	for i := range n {
		put.List = append(put.List, fmt.Sprintf("m%05d", i), "")
	}
	for half := range slices.Chunk(put.List, 1000) {
		put.List = half
		_, err := lua.Run(luatest.Deadline(b), r, pool.PutScript, put, lua.StoredReply{})
		require.NoError(b, err)
	}
	ask := p.acquireIn(poolAsk{permit: true, cost: 1, lease: 60_000})
	ask.Signature = "1000000000/1/1/1000"
	if tokenless {
		// One token a day, but for the last of them.
		ask.Signature = "1/1/86400000000/86400000"
		ask.Overrides = []string{fmt.Sprintf("m%05d", n-1), "1000000000/1/1/1000"}
	}
	report := pool.PermitReportIn{ReleaseIn: pool.ReleaseIn{
		Pool: p.keys(), Used: ask.View.Used, LineKeys: ask.View.LineKeys, Outcome: "ok",
	}, Heard: "success", Jitter: 1000}
	i := 0
	once := func(b *testing.B) {
		i++
		ask.Token = fmt.Sprint("t", i)
		out, err := lua.Run(luatest.Deadline(b), r, pool.PermitAcquireScript, ask, lua.StoredReply{})
		require.NoError(b, err)
		if !out.Value.Acquired {
			return
		}
		report.Token, report.Member = ask.Token, out.Value.ID
		_, err = lua.Run(luatest.Deadline(b), r, pool.PermitReportScript, report, lua.StoredReply{})
		require.NoError(b, err)
	}
	for range 2 * n {
		once(b) // until all that have one token have used it
	}
	for b.Loop() {
		once(b)
	}
}
