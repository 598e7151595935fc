package api

// What the remote side says of a limit, and what people decide about it.
var (
	RatelimitReport = define[RatelimitReportParams, RatelimitReportResult](Spec{
		Name: "ratelimit.report", Notify: true, Since: "0.1.0",
		Summary: "Tells how the remote server answered. A status among the rule's penalty codes pauses the key for everyone. Frees the grant's place.",
	})
	RatelimitPause = define[RatelimitPauseParams, RatelimitPauseResult](Spec{
		Name: "ratelimit.pause", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Refuses a key for a time, in every sidecar. Of several pauses the longest counts.",
	})
	RatelimitResume = define[RatelimitResumeParams, RatelimitResumeResult](Spec{
		Name: "ratelimit.resume", Idempotent: true, Since: "0.1.0",
		Summary: "Ends the pause of a key and forgets its penalty.",
	})
	RatelimitSetDelay = define[RatelimitSetDelayParams, RatelimitSetDelayResult](Spec{
		Name: "ratelimit.set_delay", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Keeps a time between any two admissions of a key, such as a crawl-delay. Of several sources the slowest counts.",
	})
)

// RatelimitReportParams tell one answer of a remote server.
type RatelimitReportParams struct {
	Rule         string `codec:"rule,omitempty" doc:"the rule's name; absent for limits given in full"`
	Key          string `codec:"key" required:"true" doc:"whom or what the limit counts"`
	Group        string `codec:"group,omitempty" doc:"the group that counts in its place"`
	Grant        string `codec:"grant,omitempty" maxlen:"4096" doc:"the grant that the request went out with; its place is freed"`
	Status       int64  `codec:"status" required:"true" min:"100" max:"999" doc:"the HTTP status that came back"`
	LatencyMS    int64  `codec:"latency_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the answer took, for metrics"`
	RetryAfterMS int64  `codec:"retry_after_ms,omitempty" zero:"-1" min:"-31622400000" max:"31622400000" doc:"milliseconds the server asks to stay away; 0 or less, such as for a date that has passed = it asks for no pause; absent = it did not say. The Go client leaves a 0 out: there it is -1"`
	Pool         string `codec:"pool,omitempty" doc:"the pool whose member the key names: the member is paused for permits"`
}

// RatelimitReportResult says whether to stay away.
type RatelimitReportResult struct {
	WaitMS          int64 `codec:"wait_ms" doc:"milliseconds until the key may go again; 0 = now"`
	PausedUntilAtMS int64 `codec:"paused_until_at_ms,omitempty" doc:"that instant by the Redis server's clock, Unix milliseconds"`
}

// RatelimitPauseParams name a key and how long it is refused; for_ms or until_at_ms.
type RatelimitPauseParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; absent for limits given in full"`
	Key       string `codec:"key" required:"true" doc:"the key"`
	Group     string `codec:"group,omitempty" doc:"the group that counts in its place"`
	ForMS     int64  `codec:"for_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds from now; or give until_at_ms"`
	UntilAtMS int64  `codec:"until_at_ms,omitempty" min:"0" doc:"the instant it ends, by the Redis server's clock, Unix milliseconds, within 366 days"`
	Reason    string `codec:"reason,omitempty" doc:"for people"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key names: it is paused for permits, whatever the rule"`
}

// RatelimitPauseResult says what is in force.
type RatelimitPauseResult struct {
	PausedUntilAtMS int64 `codec:"paused_until_at_ms" doc:"when the longest pause ends, by the Redis server's clock, Unix milliseconds"`
}

// RatelimitResumeParams name a key.
type RatelimitResumeParams struct {
	Rule  string `codec:"rule,omitempty" doc:"the rule's name; absent for limits given in full"`
	Key   string `codec:"key" required:"true" doc:"the key"`
	Group string `codec:"group,omitempty" doc:"the group that counts in its place"`
	Pool  string `codec:"pool,omitempty" doc:"the pool whose member the key names"`
}

// RatelimitResumeResult says whether there was a pause.
type RatelimitResumeResult struct {
	Resumed bool `codec:"resumed" doc:"the key was paused, and is no more"`
}

// RatelimitSetDelayParams name a key and the least time between two admissions.
type RatelimitSetDelayParams struct {
	Rule    string `codec:"rule,omitempty" doc:"the rule's name; absent for limits given in full"`
	Key     string `codec:"key" required:"true" doc:"the key"`
	Group   string `codec:"group,omitempty" doc:"the group that counts in its place"`
	DelayMS int64  `codec:"delay_ms" min:"0" max:"86400000" doc:"milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = this source asks for none"`
	TTLMS   int64  `codec:"ttl_ms,omitempty" default:"86400000" min:"1" max:"31622400000" doc:"milliseconds until this source's word is forgotten"`
	Source  string `codec:"source,omitempty" default:"robots" maxlen:"64" doc:"who says so, such as robots; each has one word"`
}

// RatelimitSetDelayResult says what is in force.
type RatelimitSetDelayResult struct {
	DelayMS   int64 `codec:"delay_ms" doc:"milliseconds from one admission to the next, of the slowest source; 0 = none"`
	UntilAtMS int64 `codec:"until_at_ms,omitempty" doc:"until when, by the Redis server's clock, Unix milliseconds"`
}
