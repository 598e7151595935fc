package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxSeries bounds the label sets kept, and the series of one metric. Labels
// come from closed lists and configured rule names, so that only a very long rule
// file reaches the bound; the SDK then combines the rest in one series.
const maxSeries = 2000

// labels keeps the attribute sets of one metric's labels, since building one
// costs more than the measurement itself.
type labels struct {
	first, second string // label names; second is empty for a metric with one label

	// sets is replaced and never changed, so that reading it takes no lock. With a
	// struct as key it does not allocate, as sync.Map would.
	sets atomic.Pointer[map[values]options]
	mu   sync.Mutex // guards the replacing of sets
}

type values struct{ first, second string }

// options is one attribute set in the two forms that the metrics API takes.
type options struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func (l *labels) of(first, second string) options {
	v := values{first, second}
	if m := l.sets.Load(); m != nil {
		if o, ok := (*m)[v]; ok {
			return o
		}
	}
	return l.insert(v)
}

func (l *labels) insert(v values) options {
	kvs := []attribute.KeyValue{attribute.String(l.first, v.first)}
	if l.second != "" {
		kvs = append(kvs, attribute.String(l.second, v.second))
	}
	set := metric.WithAttributeSet(attribute.NewSet(kvs...))
	o := options{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}

	l.mu.Lock()
	defer l.mu.Unlock()
	next := make(map[values]options)
	if m := l.sets.Load(); m != nil {
		if len(*m) >= maxSeries {
			return o
		}
		next = maps.Clone(*m)
	}
	next[v] = o
	l.sets.Store(&next)
	return o
}
