package match_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/match"
)

func TestTheFirstSetThatHasAKeyCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		sets []api.Match
		want int
	}{
		{"a", nil, -1},
		{"a", []api.Match{coordtest.Exact("b")}, -1},
		{"a", []api.Match{coordtest.Exact("b"), coordtest.Exact("a"), coordtest.Exact("a")}, 1},
		{"a.example.com", []api.Match{coordtest.Exact("b"), coordtest.Suffix("com"), coordtest.Suffix("example.com")}, 1},
		{"a.example.com", []api.Match{coordtest.Suffix("example.com"), coordtest.Glob("*")}, 0},
		{"a.example.com", []api.Match{coordtest.Glob("*"), coordtest.Suffix("example.com"), coordtest.Exact("a.example.com")}, 0},
		{"example.com", []api.Match{coordtest.Suffix("example.com")}, 0},
		{"anexample.com", []api.Match{coordtest.Suffix("example.com")}, -1},
		{"a.example.com.", []api.Match{coordtest.Suffix("example.com")}, -1},
		{"a..com", []api.Match{coordtest.Suffix("com")}, 0},
		{"a.internal.example", []api.Match{coordtest.Suffix("Internal.Example")}, 0},
		{"A.Internal.EXAMPLE", []api.Match{coordtest.Suffix("internal.example")}, 0},
		{"a.xn--bcher-kva.de", []api.Match{coordtest.Suffix("Bücher.de")}, 0},
		{"a.bücher.de", []api.Match{coordtest.Suffix("Bücher.de")}, 0},
		{"xn--bcher-kva.de", []api.Match{coordtest.Exact("bücher.de")}, 0},
		{"bücher.de", []api.Match{coordtest.Exact("bücher.de")}, 0},
		{"Alice", []api.Match{coordtest.Exact("alice"), coordtest.Suffix("alic")}, -1},
		{"a\xff.example", []api.Match{coordtest.Suffix("b\xff.example"), coordtest.Suffix("a\xff.example")}, 1},
		{"x", []api.Match{coordtest.Glob("y*"), coordtest.Glob("x?"), coordtest.Glob("*x"), coordtest.Exact("x")}, 2},
	} {
		require.Equal(t, c.want, match.First(c.key, c.sets...), "%q %v", c.key, c.sets)
	}
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for pattern, keys := range map[string]struct{ has, not []string }{
		`*`:         {[]string{"a", "a/b", "\xff", "世界"}, nil},
		`api-*`:     {[]string{"api-", "api-x*"}, []string{"api", "xapi-"}},
		`*.com`:     {[]string{".com", "a.com", "a.com.com"}, []string{"com", "a.com."}},
		`a*b*c`:     {[]string{"abc", "axbxbxc", "abbcc"}, []string{"ab", "acb", "abcd"}},
		`?`:         {[]string{"a", "世", "\xff", "*"}, []string{"ab", "世界"}},
		`世?`:        {[]string{"世界"}, []string{"世", "世界界"}},
		`*?*`:       {[]string{"a", "ab"}, nil},
		`a\*b`:      {[]string{"a*b"}, []string{"axb", `a\*b`, "a*"}},
		`\?\\`:      {[]string{`?\`}, []string{`a\`, "?"}},
		"\xff":      {[]string{"\xff"}, []string{"\xfe", "\ufffd"}},
		"\ufffd":    {[]string{"\ufffd"}, []string{"\xff"}},
		`**`:        {[]string{"a"}, nil},
		`*\*`:       {[]string{"a*", "*"}, []string{"a"}},
		`exact.com`: {[]string{"exact.com"}, []string{"exactxcom", "exact.com.", "exact.co"}},
	} {
		for _, key := range keys.has {
			require.Zero(t, match.First(key, coordtest.Glob(pattern)), "%q has %q", pattern, key)
		}
		for _, key := range keys.not {
			require.Equal(t, -1, match.First(key, coordtest.Glob(pattern)), "%q has not %q", pattern, key)
		}
	}
	// The result is that of the recursive definition.
	var is func(p, s string) bool
	is = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return is(p[1:], s) || s != "" && is(p, s[1:])
		default:
			return s != "" && (p[0] == '?' || p[0] == s[0]) && is(p[1:], s[1:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, s := rapid.StringMatching(`[ab*?]{1,8}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{1,8}`).Draw(t, "key")
		require.Equal(t, is(p, s), match.First(s, coordtest.Glob(p)) == 0, "%q %q", p, s)
	})
	// A pattern that would take a backtracking matcher exponential time is fast.
	require.Equal(t, -1, match.First(strings.Repeat("a", 512), coordtest.Glob(strings.Repeat("*a", 255)+"*b")))
}
