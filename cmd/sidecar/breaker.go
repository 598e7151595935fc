package main

import (
	"math"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// breakerOptions are the policies of a configuration as coord takes them.
func breakerOptions(items []config.Breaker) []coord.BreakerOptions {
	policies := make([]coord.BreakerOptions, len(items))
	for i, b := range items {
		policies[i] = coord.BreakerOptions{
			Name: b.Name, FailureThreshold: b.FailureThreshold, SuccessThreshold: b.SuccessThreshold,
			Open: milliseconds(b.OpenMS), OpenMax: milliseconds(b.OpenMaxMS), HalfOpenMax: b.HalfOpenMax,
			ProbeTTL: milliseconds(b.ProbeTTLMS), FailMode: coord.FailMode(b.FailMode),
		}
		if w := b.Window; w != nil {
			policies[i].Window = coord.BreakerWindow{
				Length: milliseconds(w.WindowMS), MinCalls: w.MinCalls, FailureRate: w.FailureRate,
				Slow: milliseconds(w.SlowMS), SlowRate: w.SlowRate,
			}
		}
	}
	return policies
}

// milliseconds keeps a period that no duration can hold out of every bound, where
// multiplying it would wrap it around to a harmless one.
func milliseconds(ms int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-most, min(ms, most))) * time.Millisecond
}
