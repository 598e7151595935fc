package status

import (
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// step is the time between two samples.
	step = 5 * time.Second
	// points is how many samples are kept: those of the last 5 minutes.
	points = 61
)

// rates keeps the samples of the last minutes.
type rates struct {
	mu      sync.Mutex // guards samples
	samples []sample   // the oldest first
}

// sample has the counters of the sidecar, which count from its start, at one moment.
type sample struct {
	at      time.Time
	calls   int64
	methods map[string]int64
	rules   map[string]counted
}

// counted is what a rule decided.
type counted struct{ allowed, refused int64 }

func sampleOf(at time.Time, state *api.InspectResult) sample {
	s := sample{at: at, methods: make(map[string]int64, len(state.Calls)), rules: make(map[string]counted, len(state.Decisions))}
	for _, c := range state.Calls {
		s.methods[c.Name] = c.Count
		s.calls += c.Count
	}
	for _, d := range state.Decisions {
		s.rules[d.Rule] = counted{d.Allowed, d.Refused}
	}
	return s
}

// add keeps a sample, and drops the oldest beyond those that are kept.
func (r *rates) add(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == points {
		copy(r.samples, r.samples[1:])
		r.samples = r.samples[:points-1]
	}
	r.samples = append(r.samples, s)
}

// until returns the samples and one of now. It leaves out those that are too recent to make a rate with the one of now.
func (r *rates) until(now sample) spans {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := len(r.samples)
	for old > 0 && now.at.Sub(r.samples[old-1].at) < step/2 {
		old--
	}
	return append(append(make(spans, 0, old+1), r.samples[:old]...), now)
}

// spans are samples, between which rates are made. The last rate is that of now.
type spans []sample

// each calls f with the samples at both ends of each span, and its length in seconds.
func (s spans) each(f func(from, to *sample, seconds float64)) {
	for i := 1; i < len(s); i++ {
		f(&s[i-1], &s[i], s[i].at.Sub(s[i-1].at).Seconds())
	}
}

// ofCalls are all calls per second.
func (s spans) ofCalls() (series []float64) {
	s.each(func(from, to *sample, seconds float64) { series = append(series, float64(to.calls-from.calls)/seconds) })
	return series
}

// ofMethod is how often a method is called per second now.
func (s spans) ofMethod(name string) (now float64) {
	s[max(len(s)-2, 0):].each(func(from, to *sample, seconds float64) { now = float64(to.methods[name]-from.methods[name]) / seconds })
	return now
}

// ofRule is what a rule decided per second. Before its first decision it has counted nothing, like a rule without one.
func (s spans) ofRule(name string) (allowed, refused []float64) {
	s.each(func(from, to *sample, seconds float64) {
		a, b := from.rules[name], to.rules[name]
		allowed, refused = append(allowed, float64(b.allowed-a.allowed)/seconds), append(refused, float64(b.refused-a.refused)/seconds)
	})
	return allowed, refused
}
