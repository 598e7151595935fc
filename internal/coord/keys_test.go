package coord_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
)

func TestKeysHaveTheDocumentedForm(t *testing.T) {
	t.Parallel()
	k := coord.NewKeys("coxswain", "")
	require.Equal(t, "coxswain:v2:{per-host:example.com}:rl:token_bucket", coordtest.LimitKey(k, "per-host", "example.com", "token_bucket"))
	require.Equal(t, "coxswain:v2:{nightly}:lock", coordtest.LockKey(k, "nightly"))
	require.Equal(t, "coxswain:acme:v2:{nightly}:lock", coordtest.LockKey(coord.NewKeys("coxswain", "acme"), "nightly"))
	l := coord.StoredReply(coordtest.LockKey(k, "a:b"), coord.Caller{RequestID: "r:1", Fingerprint: "f"})
	require.Equal(t, "coxswain:v2:{a%3Ab}:idem:r%3A1", l.Key)
	require.Equal(t, "f", l.Fingerprint)
	require.Zero(t, coord.StoredReply(coordtest.LockKey(k, "a"), coord.Caller{}), "no request id, no stored")
}

func TestKeysEscapeWhatWouldChangeTheirMeaning(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain-Text_1.0/~ ?*[]": "plain-Text_1.0/~ ?*[]",
		"a{b}c":                 "a%7Bb%7Dc",
		"{}":                    "%7B%7D",
		"}{":                    "%7D%7B",
		"x:y":                   "x%3Ay",
		"100%":                  "100%25",
		"%7B":                   "%257B",
		"nul\x00":               "nul%00",
		"\r\n\x1f\x7f":          "%0D%0A%1F%7F",
		"grüße 世界":              "grüße 世界",
		"\u0085\u009f":          "%C2%85%C2%9F",
		"\xff\xfe":              "%FF%FE",
		"\xef":                  "%EF",
		"\ufffd":                "\ufffd",
		"a\xf0\x9f":             "a%F0%9F",
	} {
		require.Equal(t, want, coord.Escaped(in), "%q", in)
	}
}

// place is everything that identifies the state of a call.
type place struct {
	prefix, tenant, noun, rule, name, algorithm, id string
}

func (p place) key() string {
	k := coord.NewKeys(p.prefix, p.tenant)
	key := coordtest.LockKey(k, p.name)
	if p.noun == "rl" {
		key = coordtest.LimitKey(k, p.rule, p.name, p.algorithm)
	}
	if p.id != "" {
		key = coord.StoredReply(key, coord.Caller{RequestID: p.id}).Key
	}
	return key
}

// shared is what two places have in common when they may share a key: a lock
// has no rule, and a stored reply belongs to the tag, whatever the algorithm.
func (p place) shared() place {
	if p.noun == "lock" {
		p.rule, p.algorithm = "", ""
	}
	if p.id != "" {
		p.algorithm = ""
	}
	return p
}

func drawPlace(t *rapid.T, label string) place {
	return place{
		prefix:    coordtest.Nasty(1).Draw(t, label+" prefix"),
		tenant:    coordtest.Nasty(0).Draw(t, label+" tenant"),
		noun:      rapid.SampledFrom([]string{"lock", "rl"}).Draw(t, label+" noun"),
		rule:      coordtest.Nasty(0).Draw(t, label+" rule"),
		name:      coordtest.Nasty(1).Draw(t, label+" name"),
		algorithm: rapid.SampledFrom([]string{"token_bucket", "fixed_window"}).Draw(t, label+" algorithm"),
		id:        coordtest.Nasty(0).Draw(t, label+" id"),
	}
}

func TestDifferentInputsNeverShareAKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := drawPlace(t, "a")
		b := a
		// Mostly near misses: text moved from one part to its neighbour.
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			b = drawPlace(t, "b")
		case 1:
			b.rule, b.name = "", a.rule+":"+a.name
		case 2:
			b.prefix, b.tenant = a.prefix+":"+a.tenant, ""
		case 3:
			b.noun = rapid.SampledFrom([]string{"lock", "rl"}).Draw(t, "noun")
		case 4:
			b.name, b.id = a.name+"}:idem:"+a.id, ""
		}
		require.Equal(t, a.shared() == b.shared(), a.key() == b.key(), "%q and %q: %q and %q", a, b, a.key(), b.key())
	})
}

// tagOf is Redis Cluster's rule: what is between the first { and the next }.
func tagOf(key string) string {
	i := strings.IndexByte(key, '{')
	j := strings.IndexByte(key[i:], '}')
	return key[i+1 : i+j]
}

func TestAllKeysOfACallShareOneSlot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlace(t, "p")
		p.id = ""
		state := p.key()
		tag := tagOf(state)
		require.NotEmpty(t, tag, "an empty tag would hash the whole key: %q", state)
		want := coord.Escaped(p.name)
		if p.noun == "rl" {
			want = coord.Escaped(p.rule) + ":" + want
		}
		require.Equal(t, want, tag)
		p.id = coordtest.Nasty(1).Draw(t, "id")
		require.Equal(t, tag, tagOf(p.key()))
		require.True(t, utf8.ValidString(p.key()), "keys are text: %q", p.key())
	})
}

// FuzzEscapedCanBeUndone shows that escaping is one to one: what it made can be
// turned back, with a decoder that is not ours.
func FuzzEscapedCanBeUndone(f *testing.F) {
	for _, s := range []string{"", "a", "a{b}c", "{}", "}{", "x:y", "%", "%25", "\x00", "世界", "\xff", "\xef", "\ufffd", "\u0085", "+ %2B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := coord.Escaped(s)
		require.False(t, strings.ContainsAny(e, "{}:\x00\n\r\x7f"), "%q", e)
		require.True(t, utf8.ValidString(e), "%q", e)
		back, err := url.PathUnescape(e)
		require.NoError(t, err)
		require.Equal(t, s, back)
	})
}
