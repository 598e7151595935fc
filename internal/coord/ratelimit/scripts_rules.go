package ratelimit

import (
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PutRuleScript keeps a rule, and tells every sidecar. The same text again
// changes nothing.
var PutRuleScript = lua.Define[PutRuleIn, PutRuleOut](files, lua.Source{
	Name:       "ratelimit_put_rule",
	Idempotent: true,
})

// PutRuleIn is one rule.
type PutRuleIn struct {
	Rules string `lua:"key"`
	Name  string
	Text  string // what sidecars read; the scripts do not
	// Least is the lowest revision that is new to the caller, Unix milliseconds.
	Least int64
	// Most is how many fields the key may have: rules, deleted rules that are
	// remembered, and one more.
	Most    int64
	Channel string // of the broadcast
}

// PutRuleOut has the revision of the rule.
type PutRuleOut struct {
	Revision int64 // of the rule, Unix milliseconds; 0 = there are too many rules
	Replaced bool  // there was another one of its name
}

// DeleteRuleScript removes a rule, and tells every sidecar; false when there
// was none.
var DeleteRuleScript = lua.Define[DeleteRuleIn, bool](files, lua.Source{
	Name:       "ratelimit_delete_rule",
	Returns:    []string{"deleted"},
	Idempotent: true,
})

// DeleteRuleIn names a rule; the rest is as of RatelimitPutRuleIn.
type DeleteRuleIn struct {
	Rules   string `lua:"key"`
	Name    string
	Least   int64
	Channel string
}

// RulesScript tells all rules that are kept, unless the caller has them.
var RulesScript = lua.Define[RulesIn, RulesOut](files, lua.Source{
	Name:       "ratelimit_rules",
	Idempotent: true,
})

// RulesIn says what the caller has: Known is the revision of the whole
// that it was told last, -1 = none.
type RulesIn struct {
	Rules string `lua:"key"`
	Known int64
}

// RulesOut are the rules that are kept. When Revision is what the caller
// knew, there are none in it, and nothing changed.
type RulesOut struct {
	Revision int64 // of the whole: another number with each change; 0 = there never was a rule
	Fields   []RuleField
}

// RuleField is a field of the hash that has the rules, see ratelimit_put_rule.lua.
type RuleField struct{ Name, Value string }

// Rules are those in Fields. What ratelimit_put_rule.lua does not write is left out.
func (o RulesOut) Rules() []KeptRule {
	rules := make([]KeptRule, 0, len(o.Fields))
	for _, f := range o.Fields {
		kind, name, _ := strings.Cut(f.Name, ":")
		number, text, _ := strings.Cut(f.Value, " ")
		revision, err := strconv.ParseInt(number, 10, 64)
		if err != nil || revision < 0 {
			revision, text = 0, ""
		}
		switch kind {
		case "r":
			rules = append(rules, KeptRule{Name: name, Revision: revision, Text: text})
		case "d":
			rules = append(rules, KeptRule{Name: name, Revision: revision, Deleted: true})
		}
	}
	return rules
}

// KeptRule is one name.
type KeptRule struct {
	Name     string
	Revision int64 // Unix milliseconds; 0 = it could not be read
	Deleted  bool  // then there is no Text
	Text     string
}
