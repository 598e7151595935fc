package main

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// sample is the measurement of one load in one round; fields that do not apply are zero.
type sample struct {
	rate     float64       // calls per second, an exchange of several counting as one
	p50, p99 time.Duration // of one call
	cpu      time.Duration // user and system time of the process under test, per call
	redis    time.Duration // user and system time of Redis, per call
	value    float64       // the result of a load that measures something else, in the unit of its figure
}

// The fields of samples from which figures are computed; times are in us.
func rate(s sample) float64  { return s.rate }
func p50(s sample) float64   { return us(s.p50) }
func p99(s sample) float64   { return us(s.p99) }
func cpu(s sample) float64   { return us(s.cpu) }
func redis(s sample) float64 { return us(s.redis) }
func value(s sample) float64 { return s.value }

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// plain returns the sample of a load that has only calls and latencies.
func plain(t tally, err error) (sample, error) {
	return sample{rate: t.rate(), p50: t.p50, p99: t.p99}, err
}

// unavailable is why a load cannot be measured on this machine. The run does not fail.
type unavailable struct{ why string }

func (u unavailable) Error() string { return u.why }

func notHere(format string, args ...any) error { return unavailable{fmt.Sprintf(format, args...)} }

// results has the samples of one sidecar, or of the peers, for each load by round, and
// why other loads have none.
type results struct {
	samples map[string][]sample
	missing map[string]string
}

func newResults() *results {
	return &results{samples: map[string][]sample{}, missing: map[string]string{}}
}

// add keeps a sample, or the reason for none; any other error is returned.
func (r *results) add(load string, s sample, err error) error {
	var u unavailable
	switch {
	case err == nil:
		r.samples[load] = append(r.samples[load], s)
		return nil
	case errors.As(err, &u):
		r.missing[load] = u.why
		return nil
	default:
		return fmt.Errorf("%s: %w", load, err)
	}
}

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
