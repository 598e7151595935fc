// Package match finds the first of many sets that contains a name. A set is one exact name,
// the names with a domain suffix, or the names that match a glob. Rules and breaker policies
// use it to choose keys.
package match

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Matcher finds the first of many sets that contains a key. The zero Matcher has no sets.
type Matcher struct {
	exact, suffix map[string]int
	globs         []glob
}

type glob struct {
	at      int
	pattern string
}

// New returns a matcher of these sets, in their order.
func New(ms []api.Match) (m Matcher) {
	for i, x := range ms {
		m.Add(i, x)
	}
	return m
}

// Add adds a set with the index at, which must be higher than those that were added before.
func (m *Matcher) Add(at int, x api.Match) {
	first := func(in *map[string]int, text string) {
		if *in == nil {
			*in = make(map[string]int)
		}
		if _, dup := (*in)[text]; !dup {
			(*in)[text] = at
		}
	}
	switch {
	case x.Exact != "":
		first(&m.exact, x.Exact)
		first(&m.exact, ASCII(x.Exact))
	case x.Suffix != "":
		first(&m.suffix, Lower(x.Suffix))
		first(&m.suffix, ASCII(Lower(x.Suffix)))
	default:
		m.globs = append(m.globs, glob{at, x.Glob})
	}
}

// Lower returns a domain in lower case, since domains are not case-sensitive. It returns
// a text that is not UTF-8 unchanged.
func Lower(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	return strings.ToLower(text)
}

// ASCII returns the form that DNS uses for a name with letters beyond ASCII (IDNA), since
// clients use that form as the key. It returns the text unchanged if there is no such form.
func ASCII(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return text
	}
	name, err := idna.Lookup.ToASCII(text)
	if err != nil {
		return text
	}
	return name
}

// First returns the index of the first set that contains the key, or -1. Its cost
// grows with the number of globs and of labels of the key, not with the other sets.
func (m *Matcher) First(key string) int {
	best := -1
	better := func(at int, ok bool) {
		if ok && (best < 0 || at < best) {
			best = at
		}
	}
	at, ok := m.exact[key]
	better(at, ok)
	if len(m.suffix) > 0 {
		for domain, more := Lower(key), true; more; _, domain, more = strings.Cut(domain, ".") {
			at, ok = m.suffix[domain]
			better(at, ok)
		}
	}
	for _, g := range m.globs {
		if best >= 0 && g.at > best {
			break
		}
		if globs(g.pattern, key) {
			return g.at
		}
	}
	return best
}

// globs reports whether text matches the pattern. When the rest does not match, only the
// last * is extended: a longer match of an earlier * could not help, since the last one can
// match all that the earlier one would. So the time is at most the product of the lengths,
// even for a hostile pattern.
func globs(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0 // after the last * of the pattern, and where in the text its match ends
	for t < len(text) {
		c, size := utf8.DecodeRuneInString(text[t:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			star, from = p, t
			continue
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+size
			continue
		case p < len(pattern):
			at := p
			if pattern[at] == '\\' {
				at++
			}
			want, width := utf8.DecodeRuneInString(pattern[at:])
			// Compare the bytes too: bytes that are not UTF-8 all decode to the same rune.
			if want == c && pattern[at:at+width] == text[t:t+size] {
				p, t = at+width, t+size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, skip := utf8.DecodeRuneInString(text[from:])
		from += skip
		p, t = star, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// BadEscape returns the offset of the first \ in a pattern that does not escape *, ? or \, and -1 if there is none.
func BadEscape(pattern string) int {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i+1 == len(pattern) || !strings.ContainsRune(`*?\`, rune(pattern[i+1])) {
			return i
		}
		i++
	}
	return -1
}
