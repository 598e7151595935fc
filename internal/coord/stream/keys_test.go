package stream_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
)

func TestStreamsOfOddNamesShareNoKey(t *testing.T) {
	t.Parallel()
	names := []string{
		"a", "a{b}c", "{}", "}{", "x:y", "x", "y", "grüße 世界", "nul\x00", "nul", "\xff", "{", "%7B", "log", "dead", "retry:g", "a:log",
		strings.Repeat("n", 512), strings.Repeat("n", 511) + "{",
	}
	k := coord.NewKeys("coxswain", "")
	of := map[string]string{} // the owner of each key
	is := func(key, what string) {
		t.Helper()
		if other, taken := of[key]; taken {
			require.Equal(t, other, what, "both have the key %q", key)
		}
		of[key] = what
	}
	for _, name := range names {
		tag := "{" + coord.Escaped(name) + "}"
		for _, part := range names {
			for i, key := range stream.EveryKeyOf(k, name, part, part) {
				require.Equal(t, 1, strings.Count(key, "{"), key)
				require.Contains(t, key, tag+":stream:")
				what := name + "\n" + []string{"log", "dead", "groups", "due", "delayed", "retry", "lanes", "parked", "laned", "dedupe"}[i]
				if i > 4 {
					what += "\n" + part
				}
				is(key, what)
			}
			stored := coord.StoredReply(stream.LogOf(k, name), coord.Caller{RequestID: part}).Key
			require.Contains(t, stored, tag+":idem:")
			is(stored, name+"\nstored_reply\n"+part)
		}
	}
	require.Len(t, of, len(names)*(5+6*len(names)))
}
