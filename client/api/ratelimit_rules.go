package api

// The rules, and how they fare.
var (
	RatelimitRules = define[Nothing, RatelimitRulesResult](Spec{
		Name: "ratelimit.rules", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the rules in force in this sidecar, and those that another one of the same name hides.",
	})
	RatelimitPutRule = define[RatelimitPutRuleParams, RatelimitPutRuleResult](Spec{
		Name: "ratelimit.put_rule", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Keeps a rule in Redis, for every sidecar, at once or a second later. A rule of the same name there is replaced.",
	})
	RatelimitDeleteRule = define[RatelimitDeleteRuleParams, RatelimitDeleteRuleResult](Spec{
		Name: "ratelimit.delete_rule", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Removes a rule that ratelimit.put_rule put. Rules of files stay.",
	})
	RatelimitExplain = define[RatelimitExplainParams, RatelimitExplainResult](Spec{
		Name: "ratelimit.explain", Idempotent: true, Since: "0.1.0",
		Summary: "Tells all there is to know of a limit and a key: the rule and override that count, each band, pause, delay, and who holds places.",
	})
	RatelimitStats = define[Nothing, RatelimitStatsResult](Spec{
		Name: "ratelimit.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the decisions of this sidecar since it started, for each rule.",
	})
)

// OnOff is on, off or, where it is absent, empty. Files may write true and false.
type OnOff string

// Rule is a named limit: as calls carry it, as files have it (yaml), and as it is kept
// in Redis (json), where sidecars of several versions read it during a rollout.
type Rule struct {
	Name            string     `codec:"name" yaml:"name" json:"name" required:"true" doc:"what calls name it by"`
	Algorithm       string     `codec:"algorithm" yaml:"algorithm" json:"algorithm" required:"true" enum:"{algorithm}" doc:"how it counts"`
	Limits          []Band     `codec:"limits" yaml:"limits" json:"limits" required:"true" doc:"its bands, 1 to 4, each with a period of its own"`
	FailMode        string     `codec:"fail_mode,omitempty" yaml:"fail_mode,omitempty" json:"fail_mode,omitempty" enum:"closed,open,local" doc:"what decides when Redis does not answer; absent = open"`
	LocalShareOf    int64      `codec:"local_share_of,omitempty" yaml:"local_share_of,omitempty" json:"local_share_of,omitempty" min:"0" max:"1000000" doc:"how many pods share the limit when it is local; absent = 1"`
	DenyCache       OnOff      `codec:"deny_cache,omitempty" yaml:"deny_cache,omitempty" json:"deny_cache,omitempty" enum:"on,off" doc:"whether refusals are answered locally for up to a second; absent = on"`
	Overrides       []Override `codec:"overrides,omitempty" yaml:"overrides,omitempty" json:"overrides,omitempty" doc:"other limits for some keys; the first that matches counts"`
	Allow           []Match    `codec:"allow,omitempty" yaml:"allow,omitempty" json:"allow,omitempty" doc:"keys that are always let through and count nowhere"`
	Deny            []Match    `codec:"deny,omitempty" yaml:"deny,omitempty" json:"deny,omitempty" doc:"keys that are always refused, before allow"`
	Groups          []Group    `codec:"groups,omitempty" yaml:"groups,omitempty" json:"groups,omitempty" doc:"keys that count together; the first that matches counts"`
	Shadow          bool       `codec:"shadow,omitempty" yaml:"shadow,omitempty" json:"shadow,omitempty" doc:"count and tell, and refuse nothing"`
	MaxConcurrent   int64      `codec:"max_concurrent,omitempty" yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" min:"0" max:"1000000" doc:"how many grants of a key may be held at once; absent or 0 = any number"`
	HeadroomPercent int64      `codec:"headroom_percent,omitempty" yaml:"headroom_percent,omitempty" json:"headroom_percent,omitempty" min:"0" max:"99" doc:"how much of each limit and burst is kept back, since what was granted arrives late; absent = 0"`
	MaxDelayMS      int64      `codec:"max_delay_ms,omitempty" yaml:"max_delay_ms,omitempty" json:"max_delay_ms,omitempty" min:"0" max:"86400000" doc:"the longest delay that ratelimit.set_delay may set; absent = 60000"`
	Mode            string     `codec:"mode,omitempty" yaml:"mode,omitempty" json:"mode,omitempty" enum:"exact,leased" doc:"exact = Redis decides each call; leased = a sidecar charges blocks ahead and serves them from memory, of token_bucket and fixed_window, without max_concurrent; absent = exact"`
	Lease           *RuleLease `codec:"lease,omitempty" yaml:"lease,omitempty" json:"lease,omitempty" doc:"how much a sidecar may charge ahead in mode leased, and for how long"`
	Penalty         *Penalty   `codec:"penalty,omitempty" yaml:"penalty,omitempty" json:"penalty,omitempty" doc:"what ratelimit.report does about refusals of the remote server"`
}

// Match is a set of keys: one of its fields is given.
type Match struct {
	Exact  string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"this key"`
	Glob   string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"keys of this form: * is any text, ? one character, \\ before either means itself"`
	Suffix string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"this domain and those under it: example.com matches a.example.com, not anexample.com; in upper and lower case alike"`
}

// Override is what a rule is for some keys.
type Override struct {
	Exact         string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"as of allow"`
	Glob          string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"as of allow"`
	Suffix        string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"as of allow"`
	Limits        []Band `codec:"limits,omitempty" yaml:"limits,omitempty" json:"limits,omitempty" doc:"the bands for these keys; absent = the rule's"`
	MaxConcurrent int64  `codec:"max_concurrent,omitempty" yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" min:"0" max:"1000000" doc:"how many grants may be held at once; absent or 0 = the rule's"`
}

// Group is a set of keys that count as one.
type Group struct {
	Exact  string `codec:"exact,omitempty" yaml:"exact,omitempty" json:"exact,omitempty" doc:"as of allow"`
	Glob   string `codec:"glob,omitempty" yaml:"glob,omitempty" json:"glob,omitempty" doc:"as of allow"`
	Suffix string `codec:"suffix,omitempty" yaml:"suffix,omitempty" json:"suffix,omitempty" doc:"as of allow"`
	Name   string `codec:"name,omitempty" yaml:"name,omitempty" json:"name,omitempty" doc:"what counts in place of the key; absent = the suffix, which is then given"`
}

// RuleLease bounds the blocks of a rule in mode leased.
type RuleLease struct {
	MaxSharePercent int64 `codec:"max_share_percent,omitempty" yaml:"max_share_percent,omitempty" json:"max_share_percent,omitempty" min:"0" max:"100" doc:"the most that one sidecar may hold of a key, in percent of each band's limit, and never more than its burst; absent = 10"`
	TTLMS           int64 `codec:"ttl_ms,omitempty" yaml:"ttl_ms,omitempty" json:"ttl_ms,omitempty" min:"0" max:"60000" doc:"milliseconds from the charge for which a block may be served, at least 10; absent = 1000"`
}

// Penalty is what refusals of the remote server lead to.
type Penalty struct {
	Codes         []int64 `codec:"codes,omitempty" yaml:"codes,omitempty" json:"codes,omitempty" min:"100" max:"999" doc:"the statuses that pause the key; absent = 429 and 503"`
	BaseMS        int64   `codec:"base_ms,omitempty" yaml:"base_ms,omitempty" json:"base_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds of the first pause when the server gives none; absent = 60000"`
	MaxMS         int64   `codec:"max_ms,omitempty" yaml:"max_ms,omitempty" json:"max_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds of the longest; each pause is twice the last one; absent = 86400000"`
	ForgiveMS     int64   `codec:"forgive_ms,omitempty" yaml:"forgive_ms,omitempty" json:"forgive_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds after the end of a pause after which the next is a first one again; absent = 1800000"`
	JitterPercent *int64  `codec:"jitter_percent,omitempty" yaml:"jitter_percent,omitempty" json:"jitter_percent,omitempty" min:"0" max:"100" doc:"how much longer or shorter a pause of our own may be, so that not all come back at once; absent = 10"`
}

// RatelimitRulesResult are the rules in force.
type RatelimitRulesResult struct {
	Rules      []RuleInForce `codec:"rules" doc:"by name"`
	Precedence string        `codec:"precedence" enum:"file,redis" doc:"which of two rules of one name is in force"`
	Unreadable []string      `codec:"unreadable,omitempty" doc:"rules in Redis that this version of the sidecar cannot read, by name; they are not in force here"`
}

// RuleInForce is a rule and where it is from.
type RuleInForce struct {
	Rule     Rule   `codec:"rule" doc:"the rule, without what is as by default"`
	Source   string `codec:"source" enum:"file,redis" doc:"file = the configuration; redis = ratelimit.put_rule"`
	Hidden   bool   `codec:"hidden,omitempty" doc:"it is not in force: the other source has a rule of this name, which comes first"`
	Revision int64  `codec:"revision" doc:"rises with each change; Unix milliseconds"`
}

// RatelimitPutRuleParams are one rule.
type RatelimitPutRuleParams struct {
	Rule *Rule `codec:"rule" required:"true" doc:"the rule"`
}

// RatelimitPutRuleResult says whether the rule counts.
type RatelimitPutRuleResult struct {
	Revision int64 `codec:"revision" doc:"of the rule, Unix milliseconds"`
	Replaced bool  `codec:"replaced" doc:"there was another one of this name in Redis"`
	Hidden   bool  `codec:"hidden" doc:"a file of this sidecar has a rule of this name, which comes first"`
}

// RatelimitDeleteRuleParams name a rule.
type RatelimitDeleteRuleParams struct {
	Name string `codec:"name" required:"true" doc:"the rule"`
}

// RatelimitDeleteRuleResult says whether there was one.
type RatelimitDeleteRuleResult struct {
	Deleted bool `codec:"deleted" doc:"it was in Redis, and is no more"`
}

// RatelimitExplainParams name a limit and a key.
type RatelimitExplainParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; or give algorithm and limits"`
	Algorithm string `codec:"algorithm,omitempty" enum:"{algorithm}" doc:"the algorithm of a limit given in full"`
	Limits    []Band `codec:"limits,omitempty" doc:"the bands of a limit given in full, 1 to 4"`
	Key       string `codec:"key" required:"true" doc:"the key"`
	Group     string `codec:"group,omitempty" doc:"the group that counts in its place"`
}

// RatelimitExplainResult is all that decides about a key.
type RatelimitExplainResult struct {
	Rule          string          `codec:"rule" doc:"the rule's name, empty for a limit given in full"`
	Algorithm     string          `codec:"algorithm" doc:"the algorithm"`
	Revision      int64           `codec:"revision" doc:"of the rule; 0 for a limit given in full"`
	Counted       string          `codec:"counted" doc:"what the state is kept under: the group, or the key"`
	Override      string          `codec:"override,omitempty" doc:"the override that counts, as it is written, such as glob:api-*"`
	List          string          `codec:"list,omitempty" enum:"allow,deny" doc:"the list of the rule that has the key; then nothing else counts"`
	Shadow        bool            `codec:"shadow,omitempty" doc:"the rule refuses nothing"`
	Decision      string          `codec:"decision" enum:"allowed,limit,pause,delay,concurrency,deny_list" doc:"what a call of cost 1 would be told now: allowed, or denied_by"`
	RetryMS       int64           `codec:"retry_after_ms" doc:"milliseconds until it would be allowed, rounded up; -1 = never"`
	Bands         []ExplainBand   `codec:"bands" doc:"each band"`
	Pause         *ExplainPause   `codec:"pause,omitempty" doc:"the pause, while there is one"`
	Delay         *ExplainDelay   `codec:"delay,omitempty" doc:"the delay, while there is one"`
	Penalty       *ExplainPenalty `codec:"penalty,omitempty" doc:"what refusals of the remote server led to so far"`
	MaxConcurrent int64           `codec:"max_concurrent,omitempty" doc:"how many grants may be held at once"`
	Held          []ExplainHolder `codec:"held" doc:"who holds places, the first to end first, at most 100"`
	Waiting       int64           `codec:"waiting,omitempty" doc:"how many calls stand in line for a place"`
	Block         *ExplainBlock   `codec:"block,omitempty" doc:"what this sidecar charged ahead and has not served, in mode leased; the bands count it as used"`
}

// ExplainBand is how one band stands.
type ExplainBand struct {
	Band         string `codec:"band" doc:"limit/period, such as 80/10m"`
	Limit        int64  `codec:"limit" doc:"the limit per period"`
	Burst        int64  `codec:"burst,omitempty" doc:"how many at once, of token_bucket and leaky_bucket"`
	Remaining    int64  `codec:"remaining" doc:"what could be taken at once now, rounded down"`
	Current      int64  `codec:"current" doc:"what counts now, rounded up; past the limit it is promised"`
	ResetAfterMS int64  `codec:"reset_after_ms" doc:"milliseconds until it is as if unused, rounded up"`
}

// ExplainPause is a pause in force.
type ExplainPause struct {
	UntilAtMS int64  `codec:"until_at_ms" doc:"when it ends, Unix milliseconds"`
	LeftMS    int64  `codec:"left_ms" doc:"milliseconds until then, rounded up"`
	Reason    string `codec:"reason" doc:"for people; a penalty's is the status"`
}

// ExplainDelay is a delay in force.
type ExplainDelay struct {
	DelayMS   int64  `codec:"delay_ms" doc:"milliseconds from one admission to the next"`
	Source    string `codec:"source" doc:"whose word it is"`
	UntilAtMS int64  `codec:"until_at_ms" doc:"when it is forgotten, Unix milliseconds"`
	NextMS    int64  `codec:"next_after_ms" doc:"milliseconds until the next may go, rounded up"`
}

// ExplainPenalty is the memory of the remote server's refusals.
type ExplainPenalty struct {
	Level      int64 `codec:"level" doc:"how many pauses in a row; the next one is twice as long"`
	ForgivenMS int64 `codec:"forgiven_after_ms" doc:"milliseconds until it is forgotten if none comes, rounded up"`
}

// ExplainBlock is what a sidecar holds of a key in mode leased.
type ExplainBlock struct {
	Tokens int64 `codec:"tokens" doc:"what is left of it"`
	LeftMS int64 `codec:"left_ms" doc:"milliseconds until the last of it lapses, rounded up"`
}

// ExplainHolder is who holds a place.
type ExplainHolder struct {
	Client    string `codec:"client" doc:"the client program, by its session.hello"`
	Instance  string `codec:"instance" doc:"which one it is"`
	SinceAtMS int64  `codec:"since_at_ms" doc:"since when, Unix milliseconds"`
	LeftMS    int64  `codec:"left_ms" doc:"milliseconds until it ends unless it is renewed, rounded up"`
}

// RatelimitStatsResult counts what this sidecar decided.
type RatelimitStatsResult struct {
	Since int64       `codec:"since_at_ms" doc:"since when, by the pod's clock, Unix milliseconds"`
	Rules []RuleStats `codec:"rules" doc:"by name; inline = limits given in full"`
}

// RuleStats counts the decisions of one rule.
type RuleStats struct {
	Rule     string `codec:"rule" doc:"the rule's name"`
	Allowed  int64  `codec:"allowed" doc:"calls that were let through, those in shadow included"`
	Refused  int64  `codec:"refused" doc:"calls that were refused, for whatever reason"`
	Shadowed int64  `codec:"shadowed" doc:"calls that were let through only because the rule is in shadow"`
	Degraded int64  `codec:"degraded" doc:"calls that a fail mode answered, those that failed included"`
	Waited   int64  `codec:"waited" doc:"calls that waited for a slot or a place and got it"`
	WaitedMS int64  `codec:"waited_ms" doc:"milliseconds that they waited, all together"`
}
