package coord

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// rule is a rule made ready: the limit that it is for each key.
type rule struct {
	*limit           // of keys that no override is for
	options api.Rule // as it was written

	deny, allow, groups, overrides matcher

	counts []string // what each group counts under
	others []*limit // of each override
	plain  bool     // all keys are alike
}

// compileRule makes a rule that was checked.
func compileRule(o api.Rule, revision int64) *rule {
	r := &rule{
		limit: compile(o, revision), options: o,
		deny: newMatcher(o.Deny), allow: newMatcher(o.Allow),
		plain: len(o.Deny)+len(o.Allow)+len(o.Groups)+len(o.Overrides) == 0,
	}
	for i, g := range o.Groups {
		r.groups.add(i, api.Match{Exact: g.Exact, Glob: g.Glob, Suffix: g.Suffix})
		name := g.Name
		if name == "" {
			name = ascii(lower(g.Suffix))
		}
		r.counts = append(r.counts, name)
	}
	for i, x := range o.Overrides {
		r.overrides.add(i, overridden(x))
		other := o
		if len(x.Limits) > 0 {
			other.Limits = x.Limits
		}
		if x.MaxConcurrent > 0 {
			other.MaxConcurrent = x.MaxConcurrent
		}
		r.others = append(r.others, compile(other, revision))
	}
	return r
}

// overridden are the keys that an override is for.
func overridden(x api.Override) api.Match {
	return api.Match{Exact: x.Exact, Glob: x.Glob, Suffix: x.Suffix}
}

// target is what a call comes down to.
type target struct {
	lim *limit
	// counted is what the state is kept under: the group, or the key.
	counted string
	// list is which list of the rule has the key, and then nothing else counts.
	list string
	// override is the place of the one that counts, -1 = none.
	override int
}

// The lists of a rule.
const (
	listAllow = "allow"
	listDeny  = "deny"
)

// of is the target of a key and the group that the caller put it into, if any.
func (r *rule) of(key, group string) target {
	t := target{lim: r.limit, counted: key, override: -1}
	if group != "" {
		t.counted = group
	}
	if r.plain {
		return t
	}
	switch {
	case r.deny.first(key) >= 0:
		t.list = listDeny
	case r.allow.first(key) >= 0:
		t.list = listAllow
	}
	if group == "" {
		if i := r.groups.first(key); i >= 0 {
			t.counted = r.counts[i]
		}
	}
	if t.override = r.overrides.first(t.counted); t.override >= 0 {
		t.lim = r.others[t.override]
	}
	return t
}

// matcher finds the first of many sets that has a key. The zero matcher has none.
type matcher struct {
	exact, suffix map[string]int
	globs         []glob
}

type glob struct {
	at      int
	pattern string
}

func newMatcher(ms []api.Match) (m matcher) {
	for i, x := range ms {
		m.add(i, x)
	}
	return m
}

// add takes a set that comes after all that were added before.
func (m *matcher) add(at int, x api.Match) {
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
		first(&m.exact, ascii(x.Exact))
	case x.Suffix != "":
		first(&m.suffix, lower(x.Suffix))
		first(&m.suffix, ascii(lower(x.Suffix)))
	default:
		m.globs = append(m.globs, glob{at, x.Glob})
	}
}

// lower is a domain's text in lower case, since case means nothing there. Bytes
// that are not UTF-8 stay as they are.
func lower(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	return strings.ToLower(text)
}

// ascii is how DNS has a name with letters beyond ASCII, and so how clients name it
// as a key; the text itself where there is no such form.
func ascii(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return text
	}
	name, err := idna.Lookup.ToASCII(text)
	if err != nil {
		return text
	}
	return name
}

// first is the place of the first set that has the key, or -1. What it costs
// grows with the globs and the labels of the key, not with the other sets.
func (m *matcher) first(key string) int {
	best := -1
	better := func(at int, ok bool) {
		if ok && (best < 0 || at < best) {
			best = at
		}
	}
	at, ok := m.exact[key]
	better(at, ok)
	if len(m.suffix) > 0 {
		for domain, more := lower(key), true; more; _, domain, more = strings.Cut(domain, ".") {
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

// badEscape is where a \ stands in a pattern that is not before *, ? or \; -1 = nowhere.
func badEscape(pattern string) int {
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
