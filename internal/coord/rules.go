package coord

import "time"

// Band is one limit of a rule as users write it: Limit per Period, Burst at
// once, which only buckets have (0 = Limit for a token bucket, 1 for a leaky one).
type Band struct {
	Limit  int64
	Period time.Duration
	Burst  int64
}

// RuleOptions is a rule as users write it.
type RuleOptions struct {
	Name, Algorithm string
	Limits          []Band
	FailMode        FailMode // empty = open
	// LocalShareOf is how many pods share the limit under FailLocal; 0 = 1.
	LocalShareOf int64
	DenyCache    string // on or off; empty = on

	Overrides   []Override // the first that matches what counts
	Allow, Deny []Match    // of keys; Deny comes first
	Groups      []Group    // the first that matches the key
	Shadow      bool
	// MaxConcurrent is how many grants of a key may be held at once; 0 = any number.
	MaxConcurrent int64
	// HeadroomPercent is how much of each limit and burst is kept back.
	HeadroomPercent int64
	MaxDelay        time.Duration  // 0 = a minute
	Penalty         PenaltyOptions // the zero one is as by default
}

// Match is a set of keys; one of its fields is given.
type Match struct {
	Exact string
	// Glob: * is any text, ? one character, \ before either means itself.
	Glob string
	// Suffix is a domain and those under it: example.com has a.example.com and not
	// anexample.com.
	Suffix string
}

// Override is what a rule is for some keys.
type Override struct {
	Match
	Limits        []Band // none = the rule's
	MaxConcurrent int64  // 0 = the rule's
}

// Group is a set of keys that count as one, under Name, or else the suffix.
type Group struct {
	Match
	Name string
}

// PenaltyOptions say what refusals of a remote server lead to. Zero values are
// those of DefaultPenalty; JitterPercent below 0 is none.
type PenaltyOptions struct {
	Codes              []int64 // the statuses that pause a key
	Base, Max, Forgive time.Duration
	JitterPercent      int64
}

// DefaultPenalty is that of a rule that says nothing of it.
var DefaultPenalty = PenaltyOptions{
	Codes: []int64{429, 503}, Base: time.Minute, Max: 24 * time.Hour, Forgive: 30 * time.Minute, JitterPercent: 10,
}
