package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Times are how long the calls of a method took since the start, or the tries of a script.
type Times struct {
	Name          string
	Count, Errors int64
	Sum           time.Duration
	// P50 and P99 are quantiles: half of them, and 99 of 100, took no longer. They are estimated from buckets.
	P50, P99 time.Duration
}

// Times reads from the metrics how long calls took by method, and tries of scripts by
// script, sorted by name. It costs what a scrape does.
func (s *SDK) Times(ctx context.Context) (calls, scripts []Times, err error) {
	var rm metricdata.ResourceMetrics
	if err := s.reader.Collect(ctx, &rm); err != nil {
		return nil, nil, fmt.Errorf("read the metrics: %w", err)
	}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			switch {
			case ok && m.Name == rpcDuration:
				calls = timesOf(h.DataPoints, "method", "code", "OK")
			case ok && m.Name == scriptDuration:
				scripts = timesOf(h.DataPoints, "script", "outcome", "ok")
			}
		}
	}
	return calls, scripts, nil
}

// timesOf adds up the series of each name. Series with an outcome other than fine count as errors.
func timesOf(points []metricdata.HistogramDataPoint[float64], name, outcome attribute.Key, fine string) []Times {
	type total struct {
		Times
		seconds float64
		counts  []uint64 // by bucket
	}
	byName := make(map[string]*total)
	for _, p := range points {
		of, known := p.Attributes.Value(name)
		if !known {
			continue // the SDK combines the series above maxSeries in one without a name
		}
		t := byName[of.AsString()]
		if t == nil {
			t = &total{Times: Times{Name: of.AsString()}, counts: make([]uint64, len(p.BucketCounts))}
			byName[t.Name] = t
		}
		t.Count += int64(p.Count)
		if how, _ := p.Attributes.Value(outcome); how.AsString() != fine {
			t.Errors += int64(p.Count)
		}
		t.seconds += p.Sum
		for i, n := range p.BucketCounts {
			t.counts[i] += n
		}
	}
	all := make([]Times, 0, len(byName))
	for _, t := range byName {
		t.Sum = inSeconds(t.seconds)
		t.P50, t.P99 = inSeconds(quantile(.5, latency, t.counts)), inSeconds(quantile(.99, latency, t.counts))
		all = append(all, t.Times)
	}
	slices.SortFunc(all, func(a, b Times) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// quantile estimates the value that the share q of the measurements does not exceed, as Prometheus does: it assumes that
// measurements are spread evenly within their bucket. Those beyond the last bound count as equal to that bound.
func quantile(q float64, bounds []float64, counts []uint64) float64 {
	var all uint64
	for _, n := range counts {
		all += n
	}
	rank, below := q*float64(all), 0.0
	for i, n := range counts {
		switch {
		case below+float64(n) < rank || n == 0:
			below += float64(n)
			continue
		case i == len(bounds):
			return bounds[i-1]
		}
		from := 0.0
		if i > 0 {
			from = bounds[i-1]
		}
		return from + (bounds[i]-from)*(rank-below)/float64(n)
	}
	return 0
}

// slowScript is how long a try of a script has to take to be kept in slowScripts.
const slowScript = 100 * time.Millisecond

// SlowScript is a try of a script that took long.
type SlowScript struct {
	Script, Outcome string
	Took            time.Duration
	At              time.Time // when its reply came
}

// slowScripts keeps the last tries that took long. Other tries never take its lock.
type slowScripts struct {
	mu   sync.Mutex // guards ring
	ring *Ring[SlowScript]
}

func (s *slowScripts) add(script, outcome string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring.Add(SlowScript{Script: script, Outcome: outcome, Took: took, At: time.Now()})
}

// SlowScripts returns the last 32 tries that took 100 ms or more, the latest first.
func (t *Telemetry) SlowScripts() []SlowScript {
	t.slow.mu.Lock()
	defer t.slow.mu.Unlock()
	return t.slow.ring.List()
}
