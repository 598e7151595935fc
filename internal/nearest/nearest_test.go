package nearest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

func TestNameFindsTheClosestName(t *testing.T) {
	t.Parallel()
	methods := []string{"lock.acquire", "lock.get", "lock.release", "lock.renew", "ratelimit.acquire", "session.ping"}
	for written, want := range map[string]string{
		"lock.aquire":            "lock.acquire",
		"lock.acquire ":          "lock.acquire",
		"lock.raenw":             "lock.renew",
		"LOCK.get":               "", // four edits of eight are too many to be a slip
		"ratelimit.aquier":       "ratelimit.acquire",
		"ping":                   "",
		"":                       "",
		strings.Repeat("x", 65):  "",
		strings.Repeat("x", 1e6): "",
	} {
		got, ok := nearest.Name(written, methods)
		if want == "" {
			require.False(t, ok, "%.20q got %q", written, got)
			continue
		}
		require.True(t, ok, "%q", written)
		require.Equal(t, want, got)
	}
}

func TestNameNeverReplacesAWholeShortName(t *testing.T) {
	t.Parallel()
	_, ok := nearest.Name("ab", []string{"xy", "u"})
	require.False(t, ok)
}

func TestSwappedLettersCountAsOneMistake(t *testing.T) {
	t.Parallel()
	got, ok := nearest.Name("lokc", []string{"loxx", "lock"})
	require.True(t, ok)
	require.Equal(t, "lock", got)
}

func TestNameAmongNoneOrOverlongCandidates(t *testing.T) {
	t.Parallel()
	_, ok := nearest.Name("lock.get", nil)
	require.False(t, ok)
	_, ok = nearest.Name("lock.get", []string{strings.Repeat("lock.get", 10)})
	require.False(t, ok)
	_, ok = nearest.Name(strings.Repeat("x", 65), []string{strings.Repeat("x", 64)})
	require.False(t, ok, "what is too long is not compared")
}

// One slip of the keyboard in a name of five letters or more is always found.
func TestNameFindsEverySingleSlip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{5,20}`).Draw(t, "name")
		at := rapid.IntRange(0, len(name)-2).Draw(t, "at")
		slip := rapid.SampledFrom([]string{
			name[:at] + name[at+1:],
			name[:at] + "_" + name[at:],
			name[:at] + "_" + name[at+1:],
			name[:at] + name[at+1:at+2] + name[at:at+1] + name[at+2:],
		}).Draw(t, "slip")
		got, ok := nearest.Name(slip, []string{"0123456789", name})
		if !ok || got != name {
			t.Fatalf("%q: got %q, %v; want %q", slip, got, ok, name)
		}
	})
}
