package api

// The methods that manage rules, and that explain and count their decisions.
var (
	RatelimitRules = define[Nothing, RatelimitRulesResult](Spec{
		Name: "ratelimit.rules", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the rules in force in this sidecar, and the rules that one of the same name hides.",
	})
	RatelimitPutRule = define[RatelimitPutRuleParams, RatelimitPutRuleResult](Spec{
		Name: "ratelimit.put_rule", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Stores a rule in Redis. It takes effect in every sidecar within about a second, and replaces a rule of the same name in Redis.",
	})
	RatelimitDeleteRule = define[RatelimitDeleteRuleParams, RatelimitDeleteRuleResult](Spec{
		Name: "ratelimit.delete_rule", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Removes a rule that ratelimit.put_rule stored. It does not remove rules of files.",
	})
	RatelimitExplain = define[RatelimitExplainParams, RatelimitExplainResult](Spec{
		Name: "ratelimit.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Explains what a limit would decide for a key now, and everything that decides it: the rule and override in force, " +
			"each band, the pause, the delay, and who holds permits. It takes nothing.",
	})
	RatelimitStats = define[Nothing, RatelimitStatsResult](Spec{
		Name: "ratelimit.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Returns, for each rule, the counts of this sidecar's decisions since it started.",
	})
)

// OnOff is on or off, or empty if it is absent. Files may also have true and false.
type OnOff string

// Rule is a named limit, in the form of calls, of files (yaml) and of Redis (json), where
// sidecars of several versions read it during a rollout.
type Rule struct {
	Name            string     `codec:"name" yaml:"name" json:"name" required:"true" doc:"the name by which calls select the rule"`
	Algorithm       string     `codec:"algorithm" yaml:"algorithm" json:"algorithm" required:"true" enum:"{algorithm}" doc:"the algorithm"`
	Limits          []Band     `codec:"limits" yaml:"limits" json:"limits" required:"true" doc:"its bands, 1 to 4, each with a different period"`
	FailMode        string     `codec:"fail_mode,omitempty" yaml:"fail_mode,omitempty" json:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides while Redis does not answer; absent = open"`
	LocalShareOf    int64      `codec:"local_share_of,omitempty" yaml:"local_share_of,omitempty" json:"local_share_of,omitempty" min:"0" max:"1000000" doc:"by how many pods the limit is divided while fail_mode local decides; absent = 1"`
	DenyCache       OnOff      `codec:"deny_cache,omitempty" yaml:"deny_cache,omitempty" json:"deny_cache,omitempty" enum:"on,off" doc:"whether the sidecar repeats a refusal from memory for up to a second; absent = on"`
	Overrides       []Override `codec:"overrides,omitempty" yaml:"overrides,omitempty" json:"overrides,omitempty" doc:"other limits for some keys; the first that matches is used"`
	Allow           []Match    `codec:"allow,omitempty" yaml:"allow,omitempty" json:"allow,omitempty" doc:"keys that are always allowed and never counted"`
	Deny            []Match    `codec:"deny,omitempty" yaml:"deny,omitempty" json:"deny,omitempty" doc:"keys that are always refused; checked before allow"`
	Groups          []Group    `codec:"groups,omitempty" yaml:"groups,omitempty" json:"groups,omitempty" doc:"keys that are counted together; the first that matches is used"`
	Shadow          bool       `codec:"shadow,omitempty" yaml:"shadow,omitempty" json:"shadow,omitempty" doc:"count and report, but refuse nothing"`
	MaxConcurrent   int64      `codec:"max_concurrent,omitempty" yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" min:"0" max:"1000000" doc:"how many grants of a key may be held at once; absent or 0 = no bound"`
	HeadroomPercent int64      `codec:"headroom_percent,omitempty" yaml:"headroom_percent,omitempty" json:"headroom_percent,omitempty" min:"0" max:"99" doc:"the percentage of each limit and burst that is not given out, since granted requests reach the server late and may bunch up; absent = 0"`
	MaxDelayMS      int64      `codec:"max_delay_ms,omitempty" yaml:"max_delay_ms,omitempty" json:"max_delay_ms,omitempty" min:"0" max:"86400000" doc:"the longest delay that ratelimit.set_delay may set, in milliseconds; absent = 60000"`
	Mode            string     `codec:"mode,omitempty" yaml:"mode,omitempty" json:"mode,omitempty" enum:"exact,leased" doc:"exact = Redis decides each call; leased = a sidecar charges blocks ahead and admits calls from them in memory, only for token_bucket and fixed_window without max_concurrent; absent = exact"`
	Lease           *RuleLease `codec:"lease,omitempty" yaml:"lease,omitempty" json:"lease,omitempty" doc:"how much a sidecar may charge ahead in mode leased, and for how long"`
	Penalty         *Penalty   `codec:"penalty,omitempty" yaml:"penalty,omitempty" json:"penalty,omitempty" doc:"how ratelimit.report treats refusals of the remote server"`
}

// Match is a set of keys. Exactly one of its fields is given.
type Match struct {
	Exact  string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"this key"`
	Glob   string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"keys of this form: * stands for any text, ? for one character; \\ before either makes it literal"`
	Suffix string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"this domain and those under it: example.com matches a.example.com, not anexample.com; case is ignored"`
}

// Override is the limits of a rule for some keys.
type Override struct {
	Exact         string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"as in allow"`
	Glob          string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"as in allow"`
	Suffix        string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"as in allow"`
	Limits        []Band `codec:"limits,omitempty" yaml:"limits,omitempty" json:"limits,omitempty" doc:"the bands for these keys; absent = the rule's"`
	MaxConcurrent int64  `codec:"max_concurrent,omitempty" yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" min:"0" max:"1000000" doc:"how many grants may be held at once; absent or 0 = the rule's"`
}

// Group is a set of keys that are counted as one.
type Group struct {
	Exact  string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"as in allow"`
	Glob   string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"as in allow"`
	Suffix string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"as in allow"`
	Name   string `codec:"name,omitempty" yaml:"name,omitempty" json:"name,omitempty" doc:"the name that is counted instead of the key; absent = the suffix, which must then be given"`
}

// RuleLease bounds the blocks of a rule in mode leased.
type RuleLease struct {
	MaxSharePercent int64 `codec:"max_share_percent,omitempty" yaml:"max_share_percent,omitempty" json:"max_share_percent,omitempty" min:"0" max:"100" doc:"the most that one sidecar may charge ahead for a key, as a percentage of each band's limit, and never more than its burst; absent = 10"`
	TTLMS           int64 `codec:"ttl_ms,omitempty" yaml:"ttl_ms,omitempty" json:"ttl_ms,omitempty" min:"0" max:"60000" doc:"milliseconds after its charge for which a block may be used, at least 10; absent = 1000"`
}

// Penalty is how refusals of the remote server pause a key.
type Penalty struct {
	Codes         []int64 `codec:"codes,omitempty" yaml:"codes,omitempty" json:"codes,omitempty" min:"100" max:"999" doc:"the HTTP statuses that pause the key; absent = 429 and 503"`
	BaseMS        int64   `codec:"base_ms,omitempty" yaml:"base_ms,omitempty" json:"base_ms,omitempty" min:"0" max:"31622400000" doc:"the length of the first pause in milliseconds, if the server gives none; absent = 60000"`
	MaxMS         int64   `codec:"max_ms,omitempty" yaml:"max_ms,omitempty" json:"max_ms,omitempty" min:"0" max:"31622400000" doc:"the length of the longest pause in milliseconds; each pause is twice as long as the last one; absent = 86400000"`
	ForgiveMS     int64   `codec:"forgive_ms,omitempty" yaml:"forgive_ms,omitempty" json:"forgive_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds after the end of a pause after which the next pause counts as the first again; absent = 1800000"`
	JitterPercent *int64  `codec:"jitter_percent,omitempty" yaml:"jitter_percent,omitempty" json:"jitter_percent,omitempty" min:"0" max:"100" doc:"by what percentage a pause that the server did not give is made longer or shorter at random, so that not all callers return at once; absent = 10"`
}

// RatelimitRulesResult are the rules of a sidecar.
type RatelimitRulesResult struct {
	Rules      []RuleInForce `codec:"rules" doc:"the rules, sorted by name"`
	Precedence string        `codec:"precedence" enum:"file,redis" doc:"the source whose rule is in force when both have one of the same name"`
	Unreadable []string      `codec:"unreadable,omitempty" doc:"the names of rules in Redis that this version of the sidecar cannot read; they are not in force here"`
}

// RuleInForce is a rule and its source.
type RuleInForce struct {
	Rule     Rule   `codec:"rule" doc:"the rule, without the fields that have their defaults"`
	Source   string `codec:"source" enum:"file,redis" doc:"file = the configuration; redis = ratelimit.put_rule"`
	Hidden   bool   `codec:"hidden,omitempty" doc:"it is not in force: the other source has a rule of this name, which takes precedence"`
	Revision int64  `codec:"revision" doc:"a number that rises with each change, in Unix milliseconds"`
}

// RatelimitPutRuleParams are the rule to store.
type RatelimitPutRuleParams struct {
	Rule *Rule `codec:"rule" required:"true" doc:"the rule"`
}

// RatelimitPutRuleResult reports whether the rule is in force.
type RatelimitPutRuleResult struct {
	Revision int64 `codec:"revision" doc:"the revision of the rule, Unix milliseconds"`
	Replaced bool  `codec:"replaced" doc:"it replaced a rule of this name in Redis"`
	Hidden   bool  `codec:"hidden" doc:"a file of this sidecar has a rule of this name, which takes precedence"`
}

// RatelimitDeleteRuleParams select a rule.
type RatelimitDeleteRuleParams struct {
	Name string `codec:"name" required:"true" doc:"the rule"`
}

// RatelimitDeleteRuleResult reports whether the rule existed.
type RatelimitDeleteRuleResult struct {
	Deleted bool `codec:"deleted" doc:"the rule was in Redis, and was removed"`
}

// RatelimitExplainParams select a limit and a key.
type RatelimitExplainParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits instead"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"the key"`
	Group     string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
}

// RatelimitExplainResult is everything that decides about a key.
type RatelimitExplainResult struct {
	Rule          string          `codec:"rule" doc:"the rule's name, empty for a limit given in full"`
	Algorithm     string          `codec:"algorithm" doc:"the algorithm"`
	Revision      int64           `codec:"revision" doc:"the revision of the rule; 0 for a limit given in full"`
	Counted       string          `codec:"counted" doc:"the name under which the state is kept: the group or the key"`
	Override      string          `codec:"override,omitempty" doc:"the override in force, as it is written, such as glob:api-*"`
	List          string          `codec:"list,omitempty" enum:"allow,deny" doc:"the list of the rule that has the key, which then decides alone"`
	Shadow        bool            `codec:"shadow,omitempty" doc:"the rule is in shadow: it refuses nothing"`
	Decision      string          `codec:"decision" enum:"allowed,limit,pause,delay,concurrency,deny_list" doc:"what a call of cost 1 would get now: allowed, or the denied_by of its refusal"`
	RetryMS       int64           `codec:"retry_after_ms" doc:"milliseconds until such a call would be allowed, rounded up; -1 = never"`
	Bands         []ExplainBand   `codec:"bands" doc:"each band"`
	Pause         *ExplainPause   `codec:"pause,omitempty" doc:"the pause, if one is in force"`
	Delay         *ExplainDelay   `codec:"delay,omitempty" doc:"the delay, if one is in force"`
	Penalty       *ExplainPenalty `codec:"penalty,omitempty" doc:"how many pauses the remote server's refusals have led to"`
	MaxConcurrent int64           `codec:"max_concurrent,omitempty" doc:"how many grants may be held at once"`
	Held          []ExplainHolder `codec:"held" doc:"who holds permits, in the order in which they end, at most 100"`
	Waiting       int64           `codec:"waiting,omitempty" doc:"how many calls are in the waiting line for a permit"`
	Block         *ExplainBlock   `codec:"block,omitempty" doc:"what this sidecar has charged ahead and not yet used, in mode leased; the bands count it as used"`
}

// ExplainBand is the state of a band.
type ExplainBand struct {
	Band         string `codec:"band" doc:"the band as limit/period, such as 80/10m"`
	Limit        int64  `codec:"limit" doc:"the limit per period"`
	Burst        int64  `codec:"burst,omitempty" doc:"how much token_bucket and leaky_bucket admit at once"`
	Remaining    int64  `codec:"remaining" doc:"how much could be taken at once now, rounded down"`
	Current      int64  `codec:"current" doc:"how much counts against the band now, rounded up; what exceeds the limit is promised to waiting calls"`
	ResetAfterMS int64  `codec:"reset_after_ms" doc:"milliseconds until the band is full again, rounded up"`
}

// ExplainPause is a pause in force.
type ExplainPause struct {
	UntilAtMS int64  `codec:"until_at_ms" doc:"when it ends, Unix milliseconds"`
	LeftMS    int64  `codec:"left_ms" doc:"milliseconds until then, rounded up"`
	Reason    string `codec:"reason" doc:"the reason, for people; for a penalty the HTTP status"`
}

// ExplainDelay is a delay in force.
type ExplainDelay struct {
	DelayMS   int64  `codec:"delay_ms" doc:"milliseconds from one admission to the next"`
	Source    string `codec:"source" doc:"the source that set the delay"`
	UntilAtMS int64  `codec:"until_at_ms" doc:"when the delay ends, Unix milliseconds"`
	NextMS    int64  `codec:"next_after_ms" doc:"milliseconds until the next admission, rounded up"`
}

// ExplainPenalty describes the penalty of a key: how often the remote server refused calls in a row.
type ExplainPenalty struct {
	Level      int64 `codec:"level" doc:"how many pauses there were in a row; the next one is twice as long as the last"`
	ForgivenMS int64 `codec:"forgiven_after_ms" doc:"milliseconds until this is forgotten if no further refusal comes, rounded up"`
}

// ExplainBlock is the block that a sidecar has charged ahead for a key.
type ExplainBlock struct {
	Tokens int64 `codec:"tokens" doc:"the tokens that are left"`
	LeftMS int64 `codec:"left_ms" doc:"milliseconds until the last of them lapses, rounded up"`
}

// ExplainHolder is the holder of a permit.
type ExplainHolder struct {
	Client    string `codec:"client" doc:"the client program, as it gave it to session.hello"`
	Instance  string `codec:"instance" doc:"the instance of the program, as it introduced itself"`
	SinceAtMS int64  `codec:"since_at_ms" doc:"when it was given the permit, Unix milliseconds"`
	LeftMS    int64  `codec:"left_ms" doc:"milliseconds until it ends unless it is renewed, rounded up"`
}

// RatelimitStatsResult are the counts of this sidecar's decisions.
type RatelimitStatsResult struct {
	Since int64       `codec:"since_at_ms" doc:"when the counts began, by the pod's clock, Unix milliseconds"`
	Rules []RuleStats `codec:"rules" doc:"the rules, sorted by name; inline = limits that calls give in full"`
}

// RuleStats are the counts of a rule's decisions.
type RuleStats struct {
	Rule     string `codec:"rule" doc:"the rule's name"`
	Allowed  int64  `codec:"allowed" doc:"calls that were allowed, those allowed only by shadow included"`
	Refused  int64  `codec:"refused" doc:"calls that were refused, for any reason"`
	Shadowed int64  `codec:"shadowed" doc:"calls that were allowed only because the rule is in shadow"`
	Degraded int64  `codec:"degraded" doc:"calls that a fail mode decided, those that failed included"`
	Waited   int64  `codec:"waited" doc:"calls that waited for a slot or a permit and got it"`
	WaitedMS int64  `codec:"waited_ms" doc:"the sum of their waiting times, in milliseconds"`
}
