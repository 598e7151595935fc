package config

// OnOff is "on", "off" or, where it is absent, empty. Files may write true and false.
type OnOff string

// Rule is one named limit, under the names that api.Rule has on the wire. What is
// absent is as by default.
type Rule struct {
	Name      string `yaml:"name"`
	Algorithm string `yaml:"algorithm"`
	Limits    []Band `yaml:"limits"`
	// FailMode is closed, open or local: what decides while Redis is away; absent = open.
	FailMode string `yaml:"fail_mode,omitempty"`
	// LocalShareOf is how many pods share the limit when it is local; absent = 1.
	LocalShareOf  int64      `yaml:"local_share_of,omitempty"`
	DenyCache     OnOff      `yaml:"deny_cache,omitempty"`     // absent = on
	Overrides     []Override `yaml:"overrides,omitempty"`      // the first that matches counts
	Allow         []Match    `yaml:"allow,omitempty"`          // keys that count nowhere
	Deny          []Match    `yaml:"deny,omitempty"`           // keys that are always refused, before Allow
	Groups        []Group    `yaml:"groups,omitempty"`         // the first that matches counts
	Shadow        bool       `yaml:"shadow,omitempty"`         // refuse nothing
	MaxConcurrent int64      `yaml:"max_concurrent,omitempty"` // absent or 0 = any number
	// HeadroomPercent is how much of each limit and burst is kept back; absent = 0.
	HeadroomPercent int64    `yaml:"headroom_percent,omitempty"`
	MaxDelayMS      int64    `yaml:"max_delay_ms,omitempty"` // absent or 0 = a minute
	Penalty         *Penalty `yaml:"penalty,omitempty"`
}

// Band is Limit per PeriodMS milliseconds, Burst at once (absent = Limit for
// token_bucket, 1 for leaky_bucket).
type Band struct {
	Limit    int64 `yaml:"limit"`
	PeriodMS int64 `yaml:"period_ms"`
	Burst    int64 `yaml:"burst,omitempty"`
}

// Match is a set of keys; one of its fields is given.
type Match struct {
	Exact  string `yaml:"exact,omitempty"`
	Glob   string `yaml:"glob,omitempty"`
	Suffix string `yaml:"suffix,omitempty"`
}

// Override is what a rule is for some keys, those of Match.
type Override struct {
	Exact         string `yaml:"exact,omitempty"`
	Glob          string `yaml:"glob,omitempty"`
	Suffix        string `yaml:"suffix,omitempty"`
	Limits        []Band `yaml:"limits,omitempty"`         // absent = the rule's
	MaxConcurrent int64  `yaml:"max_concurrent,omitempty"` // absent or 0 = the rule's
}

// Group is a set of keys that count as one, under Name or else the suffix.
type Group struct {
	Exact  string `yaml:"exact,omitempty"`
	Glob   string `yaml:"glob,omitempty"`
	Suffix string `yaml:"suffix,omitempty"`
	Name   string `yaml:"name,omitempty"`
}

// Penalty is what refusals of the remote server lead to.
type Penalty struct {
	Codes     []int64 `yaml:"codes,omitempty"`      // absent = 429 and 503
	BaseMS    int64   `yaml:"base_ms,omitempty"`    // absent or 0 = a minute
	MaxMS     int64   `yaml:"max_ms,omitempty"`     // absent or 0 = a day
	ForgiveMS int64   `yaml:"forgive_ms,omitempty"` // absent or 0 = half an hour
	// JitterPercent is a pointer since 0 is a value of its own; absent = 10.
	JitterPercent *int64 `yaml:"jitter_percent,omitempty"`
}
