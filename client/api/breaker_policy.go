package api

// BreakerPolicy is how some circuit breakers behave, as users configure it. A field that is
// absent or 0 has the value of the default policy.
type BreakerPolicy struct {
	Name             string         `codec:"name" yaml:"name" required:"true" doc:"the breaker that the policy is for (with a pool, the pool), or a glob of names"`
	FailureThreshold int64          `codec:"failure_threshold,omitempty" yaml:"failure_threshold,omitempty" min:"0" max:"1000000" doc:"how many failures in a row open the breaker; absent = 3"`
	SuccessThreshold int64          `codec:"success_threshold,omitempty" yaml:"success_threshold,omitempty" min:"0" max:"1000" doc:"how many successful probes close it; absent = 3"`
	OpenMS           int64          `codec:"open_ms,omitempty" yaml:"open_ms,omitempty" min:"0" max:"2592000000" doc:"milliseconds that it stays open the first time, doubled each further time in a row; absent = 600000"`
	OpenMaxMS        int64          `codec:"open_max_ms,omitempty" yaml:"open_max_ms,omitempty" min:"0" max:"2592000000" doc:"the longest that it stays open, in milliseconds; absent = 3600000, or open_ms if that is longer"`
	HalfOpenMax      int64          `codec:"half_open_max,omitempty" yaml:"half_open_max,omitempty" min:"0" max:"1000" doc:"how many probes are given out at once; absent = success_threshold"`
	ProbeTTLMS       int64          `codec:"probe_ttl_ms,omitempty" yaml:"probe_ttl_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds after which a probe that was not reported is lost; absent = 60000"`
	Window           *BreakerWindow `codec:"window,omitempty" yaml:"window,omitempty" doc:"a rolling window of calls, whose failure and slow rates open the breaker too; absent = none"`
	FailMode         string         `codec:"fail_mode,omitempty" yaml:"fail_mode,omitempty" enum:"closed,open" doc:"what decides while Redis does not answer; absent = open"`
}

// BreakerWindow is a rolling window of calls. Its rates are percentages of these calls.
type BreakerWindow struct {
	WindowMS    int64 `codec:"window_ms" yaml:"window_ms" required:"true" min:"100" max:"86400000" doc:"the length of the window in milliseconds"`
	MinCalls    int64 `codec:"min_calls,omitempty" yaml:"min_calls,omitempty" min:"0" max:"1000000" doc:"with fewer calls in the window, its rates are not used; absent = 10"`
	FailureRate int64 `codec:"failure_rate,omitempty" yaml:"failure_rate,omitempty" min:"0" max:"100" doc:"the percentage of failed calls that opens the breaker; absent = the rate does not open it"`
	SlowMS      int64 `codec:"slow_ms,omitempty" yaml:"slow_ms,omitempty" min:"0" max:"86400000" doc:"a call that takes at least this many milliseconds is slow"`
	SlowRate    int64 `codec:"slow_rate,omitempty" yaml:"slow_rate,omitempty" min:"0" max:"100" doc:"the percentage of slow calls that opens the breaker; absent = the rate does not open it"`
}
