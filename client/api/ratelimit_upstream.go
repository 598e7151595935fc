package api

// The methods that report what the remote server did, and that pause and slow down keys.
var (
	RatelimitReport = define[RatelimitReportParams, RatelimitReportResult](Spec{
		Name: "ratelimit.report", Notify: true, Since: "0.1.0",
		Summary: "Reports how the remote server answered. A status among the rule's penalty codes pauses the key for all callers. Gives back the grant's permit.",
	})
	RatelimitPause = define[RatelimitPauseParams, RatelimitPauseResult](Spec{
		Name: "ratelimit.pause", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Refuses all calls for a key for a time, in every sidecar. If there are several pauses, the longest is in force.",
	})
	RatelimitResume = define[RatelimitResumeParams, RatelimitResumeResult](Spec{
		Name: "ratelimit.resume", Idempotent: true, Since: "0.1.0",
		Summary: "Ends the pause of a key and forgets its penalty.",
	})
	RatelimitSetDelay = define[RatelimitSetDelayParams, RatelimitSetDelayResult](Spec{
		Name: "ratelimit.set_delay", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Sets the least time between two admissions of a key, such as a crawl-delay. If several sources set one, the longest is in force.",
	})
)

// RatelimitReportParams are one response of a remote server.
type RatelimitReportParams struct {
	Rule         string `codec:"rule,omitempty" doc:"the rule's name; absent for a limit that is given in full"`
	Key          string `codec:"key" required:"true" doc:"what the limit counts"`
	Group        string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
	Grant        string `codec:"grant,omitempty" maxlen:"4096" doc:"the grant for the request; its permit is given back"`
	Status       int64  `codec:"status" required:"true" min:"100" max:"999" doc:"the HTTP status of the response"`
	LatencyMS    int64  `codec:"latency_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds that the response took, for metrics"`
	RetryAfterMS int64  `codec:"retry_after_ms,omitempty" zero:"-1" min:"-31622400000" max:"31622400000" doc:"the Retry-After of the server, in milliseconds; 0 or less (a date that has passed, for example) = it asks for no pause; absent = it gave none. The Go client omits a 0: give -1 there"`
	Pool         string `codec:"pool,omitempty" doc:"the pool whose member the key is: the pause is the member's, which permits respect"`
}

// RatelimitReportResult reports whether the key is paused.
type RatelimitReportResult struct {
	WaitMS          int64 `codec:"wait_ms" doc:"milliseconds until the key's pause ends; 0 = it is not paused"`
	PausedUntilAtMS int64 `codec:"paused_until_at_ms,omitempty" doc:"that instant by the Redis server's clock, Unix milliseconds"`
}

// RatelimitPauseParams select a key, and set how long it is refused by either for_ms or until_at_ms.
type RatelimitPauseParams struct {
	Rule      string `codec:"rule,omitempty" doc:"the rule's name; absent for a limit that is given in full"`
	Key       string `codec:"key" required:"true" doc:"the key"`
	Group     string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
	ForMS     int64  `codec:"for_ms,omitempty" min:"0" max:"31622400000" doc:"milliseconds from now; or give until_at_ms instead"`
	UntilAtMS int64  `codec:"until_at_ms,omitempty" min:"0" doc:"when the pause ends, by the Redis server's clock, Unix milliseconds, within 366 days"`
	Reason    string `codec:"reason,omitempty" doc:"the reason, for people"`
	Pool      string `codec:"pool,omitempty" doc:"the pool whose member the key is: the pause is the member's, which permits respect under any rule"`
}

// RatelimitPauseResult is the pause in force.
type RatelimitPauseResult struct {
	PausedUntilAtMS int64 `codec:"paused_until_at_ms" doc:"when the longest pause ends, by the Redis server's clock, Unix milliseconds"`
}

// RatelimitResumeParams select a key.
type RatelimitResumeParams struct {
	Rule  string `codec:"rule,omitempty" doc:"the rule's name; absent for a limit that is given in full"`
	Key   string `codec:"key" required:"true" doc:"the key"`
	Group string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
	Pool  string `codec:"pool,omitempty" doc:"the pool whose member the key is"`
}

// RatelimitResumeResult reports whether there was a pause.
type RatelimitResumeResult struct {
	Resumed bool `codec:"resumed" doc:"the key was paused, and no longer is"`
}

// RatelimitSetDelayParams select a key and set the least time between two admissions.
type RatelimitSetDelayParams struct {
	Rule    string `codec:"rule,omitempty" doc:"the rule's name; absent for a limit that is given in full"`
	Key     string `codec:"key" required:"true" doc:"the key"`
	Group   string `codec:"group,omitempty" doc:"the group that is counted instead of the key"`
	DelayMS int64  `codec:"delay_ms" min:"0" max:"86400000" doc:"milliseconds from one admission to the next, at most the rule's max_delay_ms; 0 = removes the delay of this source"`
	TTLMS   int64  `codec:"ttl_ms,omitempty" default:"86400000" min:"1" max:"31622400000" doc:"milliseconds until this source's delay is forgotten"`
	Source  string `codec:"source,omitempty" default:"robots" maxlen:"64" doc:"the source of the delay, such as robots; each source has one delay"`
}

// RatelimitSetDelayResult is the delay in force.
type RatelimitSetDelayResult struct {
	DelayMS   int64 `codec:"delay_ms" doc:"milliseconds from one admission to the next, the longest of all sources; 0 = none"`
	UntilAtMS int64 `codec:"until_at_ms,omitempty" doc:"when the delay ends, by the Redis server's clock, Unix milliseconds"`
}
