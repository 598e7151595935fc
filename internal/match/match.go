// Package match finds the first of many sets of names that has a name: exact names,
// suffixes of domains and globs. Rules and breaker policies choose keys by it.
package match

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Matcher finds the first of many sets that has a key. The zero matcher has none.
type Matcher struct {
	exact, suffix map[string]int
	globs         []glob
}

type glob struct {
	at      int
	pattern string
}

// New makes the matcher of these sets, in their order.
func New(ms []api.Match) (m Matcher) {
	for i, x := range ms {
		m.Add(i, x)
	}
	return m
}

// Add takes a set that comes after all that were added before.
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

// Lower is a domain's text in lower case, since case means nothing there. Bytes
// that are not UTF-8 stay as they are.
func Lower(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	return strings.ToLower(text)
}

// ASCII is how DNS has a name with letters beyond ASCII, and so how clients name it
// as a key; the text itself where there is no such form.
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

// First is the place of the first set that has the key, or -1. What it costs
// grows with the globs and the labels of the key, not with the other sets.
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

// globs reports whether text is of the pattern's form. When the rest does not
// fit, only the last * is tried with more: those before it lose nothing by what
// they have. So the time is at most the product of the lengths, whoever wrote them.
func globs(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0 // behind the last *, and where the text went on after it
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
			// Bytes that are not UTF-8 are all the same rune.
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

// BadEscape is where a \ stands in a pattern that is not before *, ? or \; -1 = nowhere.
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
