package config

// Breakers are the policies of circuit breakers.
type Breakers struct {
	Items []Breaker `yaml:"items"`
}

// Breaker is one policy. What is absent or 0 is as by default.
type Breaker struct {
	Name             string         `yaml:"name"`                        // of the breakers, or a glob of them
	FailureThreshold int64          `yaml:"failure_threshold,omitempty"` // failures in a row; absent = 3
	SuccessThreshold int64          `yaml:"success_threshold,omitempty"` // successes of probes; absent = 3
	OpenMS           int64          `yaml:"open_ms,omitempty"`           // absent = 600000
	OpenMaxMS        int64          `yaml:"open_max_ms,omitempty"`       // absent = an hour, or open_ms if that is longer
	HalfOpenMax      int64          `yaml:"half_open_max,omitempty"`     // absent = success_threshold
	ProbeTTLMS       int64          `yaml:"probe_ttl_ms,omitempty"`      // absent = a minute
	Window           *BreakerWindow `yaml:"window,omitempty"`
	// FailMode is closed or open: what decides while Redis is away; absent = open.
	FailMode string `yaml:"fail_mode,omitempty"`
}

// BreakerWindow is a rolling window of calls; rates are percent of them.
type BreakerWindow struct {
	WindowMS    int64 `yaml:"window_ms"`
	MinCalls    int64 `yaml:"min_calls,omitempty"`    // fewer say nothing; absent = 10
	FailureRate int64 `yaml:"failure_rate,omitempty"` // absent = none
	SlowMS      int64 `yaml:"slow_ms,omitempty"`      // from when on a call is slow
	SlowRate    int64 `yaml:"slow_rate,omitempty"`    // absent = none
}
