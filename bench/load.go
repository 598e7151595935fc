package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// load is what a number of callers got done in a while.
type load struct {
	calls    int
	took     time.Duration
	p50, p99 time.Duration
}

// rate is calls per second.
func (l load) rate() float64 { return float64(l.calls) / l.took.Seconds() }

// summarize reduces the latencies of all calls made in took.
func summarize(latencies []time.Duration, took time.Duration) load {
	slices.Sort(latencies)
	n := len(latencies)
	l := load{calls: n, took: took}
	if n > 0 {
		l.p50, l.p99 = latencies[n/2], latencies[n*99/100]
	}
	return l
}

// closedLoop runs callers goroutines for d, each calling again as soon as it
// was answered, with a key of its own sequence. The first error ends it.
func closedLoop(callers int, d time.Duration, call func(key string) error) (load, error) {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards all and fail
		all  []time.Duration
		fail error
	)
	start := time.Now()
	end := start.Add(d)
	for c := range callers {
		wg.Go(func() {
			latencies, err := loopUntil(end, keySequence(c), call)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, latencies...)
			if err != nil && fail == nil {
				fail = fmt.Errorf("caller %d: %w", c, err)
			}
		})
	}
	wg.Wait()
	return summarize(all, time.Since(start)), fail
}

func loopUntil(end time.Time, next func() string, call func(key string) error) ([]time.Duration, error) {
	var latencies []time.Duration
	for sent := time.Now(); sent.Before(end); {
		if err := call(next()); err != nil {
			return latencies, err
		}
		now := time.Now()
		latencies = append(latencies, now.Sub(sent))
		sent = now
	}
	return latencies, nil
}

// keyCount is how many keys the workload spreads over.
const keyCount = 10_000

// keys are 12 digits each, since redis-benchmark replaces __rand_int__ by that.
var keys = func() []string {
	all := make([]string, keyCount)
	for i := range all {
		all[i] = fmt.Sprintf("%012d", i)
	}
	return all
}()

// keySequence visits the keys in an order that differs per caller: a stride
// that shares no factor with keyCount.
func keySequence(caller int) func() string {
	i := caller * 7919
	return func() string {
		i += 6151
		return keys[i%keyCount]
	}
}
