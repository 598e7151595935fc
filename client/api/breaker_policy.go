package api

// BreakerPolicy is how circuit breakers of one kind behave, as users write it. What is
// absent or 0 is that of the default policy.
type BreakerPolicy struct {
	Name             string         `codec:"name" yaml:"name" required:"true" doc:"the breaker that it is for (with a pool, the pool), or a glob of them"`
	FailureThreshold int64          `codec:"failure_threshold,omitempty" yaml:"failure_threshold,omitempty" min:"0" max:"1000000" doc:"failures in a row that open it; absent = 3"`
	SuccessThreshold int64          `codec:"success_threshold,omitempty" yaml:"success_threshold,omitempty" min:"0" max:"1000" doc:"successes of probes that close it; absent = 3"`
	OpenMS           int64          `codec:"open_ms,omitempty" yaml:"open_ms,omitempty" min:"0" max:"2592000000" doc:"milliseconds that it stays open, twice as long each time in a row; absent = 600000"`
	OpenMaxMS        int64          `codec:"open_max_ms,omitempty" yaml:"open_max_ms,omitempty" min:"0" max:"2592000000" doc:"the most milliseconds that it stays open; absent = an hour, or open_ms if that is longer"`
	HalfOpenMax      int64          `codec:"half_open_max,omitempty" yaml:"half_open_max,omitempty" min:"0" max:"1000" doc:"how many probes are out at once; absent = success_threshold"`
	ProbeTTLMS       int64          `codec:"probe_ttl_ms,omitempty" yaml:"probe_ttl_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds after which a probe that nobody reports on is lost; absent = a minute"`
	Window           *BreakerWindow `codec:"window,omitempty" yaml:"window,omitempty" doc:"a rolling window of calls, whose rates open it too; absent = none"`
	FailMode         string         `codec:"fail_mode,omitempty" yaml:"fail_mode,omitempty" enum:"closed,open" doc:"what decides when Redis does not answer; absent = open"`
}

// BreakerWindow is a rolling window of calls; rates are percent of them.
type BreakerWindow struct {
	WindowMS    int64 `codec:"window_ms" yaml:"window_ms" required:"true" min:"100" max:"86400000" doc:"its length in milliseconds"`
	MinCalls    int64 `codec:"min_calls,omitempty" yaml:"min_calls,omitempty" min:"0" max:"1000000" doc:"fewer calls say nothing; absent = 10"`
	FailureRate int64 `codec:"failure_rate,omitempty" yaml:"failure_rate,omitempty" min:"0" max:"100" doc:"the percent of failures that opens it; absent = they do not"`
	SlowMS      int64 `codec:"slow_ms,omitempty" yaml:"slow_ms,omitempty" min:"0" max:"86400000" doc:"milliseconds from which on a call is slow"`
	SlowRate    int64 `codec:"slow_rate,omitempty" yaml:"slow_rate,omitempty" min:"0" max:"100" doc:"the percent of slow calls that opens it; absent = they do not"`
}
