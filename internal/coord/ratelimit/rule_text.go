package ratelimit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// A rule is kept in Redis as JSON, with the field names of files. Sidecars of several versions
// read it during a rollout. Fields may be added: a version that does not know one cannot read
// the rule, since it would enforce a different rule without the field.

// maxRuleText is the longest text of a rule, in bytes, since all rules come in one reply.
const maxRuleText = 64 << 10

// textOf returns a checked rule as the text that is kept. Equal rules have equal texts. An error
// is the caller's fault.
func textOf(o api.Rule) (string, error) {
	for _, text := range anyBytes(o) {
		if !utf8.ValidString(text) {
			return "", coord.Invalid("rule: %q is not UTF-8, which is all that can be kept in redis; match such keys by a glob with ?", text)
		}
	}
	if NoPenalty(o.Penalty) {
		o.Penalty = nil
	}
	if o.Lease != nil && *o.Lease == (api.RuleLease{}) {
		o.Lease = nil
	}
	b, err := json.Marshal(o)
	if err == nil && len(b) > maxRuleText {
		return "", coord.Invalid("rule: has %d bytes as text, more than %d; keep a rule with so long lists in a file", len(b), maxRuleText)
	}
	return string(b), err
}

// anyBytes lists the texts of a rule that need not be UTF-8.
func anyBytes(o api.Rule) []string {
	var all []string
	for _, m := range slices.Concat(o.Allow, o.Deny) {
		all = append(all, m.Exact, m.Glob, m.Suffix)
	}
	for _, x := range o.Overrides {
		all = append(all, x.Exact, x.Glob, x.Suffix)
	}
	for _, g := range o.Groups {
		all = append(all, g.Exact, g.Glob, g.Suffix, g.Name)
	}
	return all
}

// readRule parses the text that is kept under a name. It returns an error if this version
// cannot read it as a rule.
func readRule(name, text string) (api.Rule, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var o api.Rule
	if err := d.Decode(&o); err != nil {
		return api.Rule{}, err
	}
	if d.More() || o.Name != name {
		return api.Rule{}, fmt.Errorf("it is not the text of one rule of that name")
	}
	if p := CheckRules([]api.Rule{o}); p != nil {
		return api.Rule{}, p
	}
	return o, nil
}
