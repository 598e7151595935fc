package lua

import (
	"strconv"
	"strings"
)

// RatelimitPutRule keeps a rule, and tells every sidecar. The same text again
// changes nothing.
var RatelimitPutRule = define[RatelimitPutRuleIn](Source{
	Name:       "ratelimit_put_rule",
	Keys:       []string{"rules"},
	Args:       []string{"name", "text", "least", "most", "channel"},
	Returns:    []string{"revision", "replaced"},
	Idempotent: true,
}, func(r *Reply) RatelimitPutRuleOut {
	return RatelimitPutRuleOut{Revision: r.Int(), Replaced: r.Bool()}
})

// RatelimitPutRuleIn is one rule.
type RatelimitPutRuleIn struct {
	Rules string // key
	Name  string
	Text  string // what sidecars read; the scripts do not
	// Least is the lowest revision that is new to the caller, Unix milliseconds.
	Least int64
	// Most is how many fields the key may have: rules, deleted rules that are
	// remembered, and one more.
	Most    int64
	Channel string // of the broadcast
}

func (in RatelimitPutRuleIn) keys(to []string) []string { return append(to, in.Rules) }
func (in RatelimitPutRuleIn) args(to []any) []any {
	return append(to, in.Name, in.Text, in.Least, in.Most, in.Channel)
}

// RatelimitPutRuleOut is what became of it.
type RatelimitPutRuleOut struct {
	Revision int64 // of the rule, Unix milliseconds; 0 = there are too many rules
	Replaced bool  // there was another one of its name
}

// RatelimitDeleteRule removes a rule, and tells every sidecar; false when there
// was none.
var RatelimitDeleteRule = define[RatelimitDeleteRuleIn](Source{
	Name:       "ratelimit_delete_rule",
	Keys:       []string{"rules"},
	Args:       []string{"name", "least", "channel"},
	Returns:    []string{"deleted"},
	Idempotent: true,
}, func(r *Reply) bool { return r.Bool() })

// RatelimitDeleteRuleIn names a rule; the rest is as of RatelimitPutRuleIn.
type RatelimitDeleteRuleIn struct {
	Rules   string // key
	Name    string
	Least   int64
	Channel string
}

func (in RatelimitDeleteRuleIn) keys(to []string) []string { return append(to, in.Rules) }
func (in RatelimitDeleteRuleIn) args(to []any) []any {
	return append(to, in.Name, in.Least, in.Channel)
}

// RatelimitRules tells all rules that are kept, unless the caller has them.
var RatelimitRules = define[RatelimitRulesIn](Source{
	Name:       "ratelimit_rules",
	Keys:       []string{"rules"},
	Args:       []string{"known"},
	Returns:    []string{"revision", "fields", "then", "name", "value"},
	Idempotent: true,
}, func(r *Reply) RatelimitRulesOut {
	out := RatelimitRulesOut{Revision: r.Int()}
	for range r.Int() {
		out.add(r.Str(), r.Str())
	}
	return out
})

// RatelimitRulesIn says what the caller has: Known is the revision of the whole
// that it was told last, -1 = none.
type RatelimitRulesIn struct {
	Rules string // key
	Known int64
}

func (in RatelimitRulesIn) keys(to []string) []string { return append(to, in.Rules) }
func (in RatelimitRulesIn) args(to []any) []any       { return append(to, in.Known) }

// RatelimitRulesOut are the rules that are kept. When Revision is what the caller
// knew, there are none in it, and nothing changed.
type RatelimitRulesOut struct {
	Revision int64 // of the whole: another number with each change; 0 = there never was a rule
	Rules    []KeptRule
}

// KeptRule is one name.
type KeptRule struct {
	Name     string
	Revision int64 // Unix milliseconds; 0 = it could not be read
	Deleted  bool  // then there is no Text
	Text     string
}

// add reads a field of the hash; what ratelimit_put_rule.lua does not write is
// left out.
func (o *RatelimitRulesOut) add(field, value string) {
	kind, name, _ := strings.Cut(field, ":")
	number, text, _ := strings.Cut(value, " ")
	revision, err := strconv.ParseInt(number, 10, 64)
	if err != nil || revision < 0 {
		revision, text = 0, ""
	}
	switch kind {
	case "r":
		o.Rules = append(o.Rules, KeptRule{Name: name, Revision: revision, Text: text})
	case "d":
		o.Rules = append(o.Rules, KeptRule{Name: name, Revision: revision, Deleted: true})
	}
}
