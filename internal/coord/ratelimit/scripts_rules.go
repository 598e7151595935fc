package ratelimit

import (
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PutRuleScript keeps a rule, and notifies every sidecar. The same text again changes nothing.
var PutRuleScript = lua.Define[PutRuleIn, PutRuleOut](files, lua.Source{
	Name:       "ratelimit_put_rule",
	Idempotent: true,
})

// PutRuleIn is one rule.
type PutRuleIn struct {
	Rules string `lua:"key"`
	Name  string
	Text  string // the rule, which only sidecars parse
	// Least is the lowest revision that is higher than that of the caller's files, Unix
	// milliseconds.
	Least int64
	// Most is how many fields the hash may have: rules, remembered deletions, and the revision.
	Most    int64
	Channel string // of the broadcast
}

// PutRuleOut is the result of PutRuleScript.
type PutRuleOut struct {
	Revision int64 // of the rule, Unix milliseconds; 0 = there are too many rules
	Replaced bool  // there was a rule of its name
}

// DeleteRuleScript removes a rule, notifies every sidecar, and reports whether there was one.
var DeleteRuleScript = lua.Define[DeleteRuleIn, bool](files, lua.Source{
	Name:       "ratelimit_delete_rule",
	Returns:    []string{"deleted"},
	Idempotent: true,
})

// DeleteRuleIn names a rule; the other fields are those of PutRuleIn.
type DeleteRuleIn struct {
	Rules   string `lua:"key"`
	Name    string
	Least   int64
	Channel string
}

// RulesScript returns all rules that are kept, unless the caller has them.
var RulesScript = lua.Define[RulesIn, RulesOut](files, lua.Source{
	Name:       "ratelimit_rules",
	Idempotent: true,
})

// RulesIn names the hash of the rules. Known is the revision that the caller read last, -1 =
// none.
type RulesIn struct {
	Rules string `lua:"key"`
	Known int64
}

// RulesOut is the rules that are kept. If Revision is equal to Known, nothing changed, and Fields
// is empty.
type RulesOut struct {
	Revision int64 // of all rules: it rises with each change; 0 = there never was a rule
	Fields   []RuleField
}

// RuleField is a field of the hash of the rules: see ratelimit_put_rule.lua.
type RuleField struct{ Name, Value string }

// Rules parses Fields. It skips fields that ratelimit_put_rule.lua does not write.
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

// KeptRule is a rule in Redis, or the deletion of one.
type KeptRule struct {
	Name     string
	Revision int64 // Unix milliseconds; 0 = it could not be read
	Deleted  bool  // then Text is empty
	Text     string
}
