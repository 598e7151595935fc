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

// sample has the values, at one moment, of counters that the sidecar counts from its start.
type sample struct {
	at      time.Time
	calls   int64
	methods map[string]int64
	rules   map[string]counted
}

// counted counts the decisions of a rule.
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

// add keeps a sample, and drops the oldest if there are too many.
func (r *rates) add(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.samples) == points {
		copy(r.samples, r.samples[1:])
		r.samples = r.samples[:points-1]
	}
	r.samples = append(r.samples, s)
}

// until returns the samples and the given one of now, without those that are too recent for a rate between them and now.
func (r *rates) until(now sample) spans {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := len(r.samples)
	for old > 0 && now.at.Sub(r.samples[old-1].at) < step/2 {
		old--
	}
	return append(append(make(spans, 0, old+1), r.samples[:old]...), now)
}

// spans are samples; each pair of neighbours gives a rate, and the last pair gives the rate of now.
type spans []sample

// each calls f with the samples at both ends of each span, and its length in seconds.
func (s spans) each(f func(from, to *sample, seconds float64)) {
	for i := 1; i < len(s); i++ {
		f(&s[i-1], &s[i], s[i].at.Sub(s[i-1].at).Seconds())
	}
}

// ofCalls returns the calls of all methods per second, for each span.
func (s spans) ofCalls() (series []float64) {
	s.each(func(from, to *sample, seconds float64) { series = append(series, float64(to.calls-from.calls)/seconds) })
	return series
}

// ofMethod returns the calls of a method per second in the last span.
func (s spans) ofMethod(name string) (now float64) {
	s[max(len(s)-2, 0):].each(func(from, to *sample, seconds float64) { now = float64(to.methods[name]-from.methods[name]) / seconds })
	return now
}

// ofRule returns the decisions of a rule per second, for each span. A sample without the rule counts as 0 decisions: the
// sidecar lists a rule only after its first decision.
func (s spans) ofRule(name string) (allowed, refused []float64) {
	s.each(func(from, to *sample, seconds float64) {
		a, b := from.rules[name], to.rules[name]
		allowed, refused = append(allowed, float64(b.allowed-a.allowed)/seconds), append(refused, float64(b.refused-a.refused)/seconds)
	})
	return allowed, refused
}
