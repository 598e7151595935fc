package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
)

func TestTheKeyOfALimitHasTheDocumentedForm(t *testing.T) {
	t.Parallel()
	k := coord.NewKeys("coxswain", "")
	require.Equal(t, "coxswain:v2:{per-host:example.com}:rl:token_bucket", ratelimit.LimitKey(k, "per-host", "example.com", "token_bucket"))
	require.Equal(t, "coxswain:v2:{:example.com}:rl:token_bucket:80/1/7500000/600000", ratelimit.InFullKey(k, "example.com", "token_bucket", band(80, 10*time.Minute)))
	rapid.Check(t, func(t *rapid.T) {
		rule, key := coordtest.Nasty(0).Draw(t, "rule"), coordtest.Nasty(1).Draw(t, "key")
		require.Equal(t, coordtest.LimitKey(k, rule, key, "fixed_window"), ratelimit.LimitKey(k, rule, key, "fixed_window"))
	})
}

func BenchmarkLimitKey(b *testing.B) {
	k := coord.NewKeys("coxswain", "")
	b.ReportAllocs()
	for b.Loop() {
		_ = ratelimit.LimitKey(k, "per-host", "www.example.com", "token_bucket")
	}
}
