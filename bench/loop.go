package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// tally is the calls of all callers of a load, and the time they took.
type tally struct {
	calls    int
	took     time.Duration
	p50, p99 time.Duration
}

// rate is calls per second.
func (t tally) rate() float64 { return float64(t.calls) / t.took.Seconds() }

// summarize reduces the latencies of all calls made in took.
func summarize(latencies []time.Duration, took time.Duration) tally {
	slices.Sort(latencies)
	n := len(latencies)
	t := tally{calls: n, took: took}
	if n > 0 {
		t.p50, t.p99 = latencies[n/2], latencies[n*99/100]
	}
	return t
}

// closedLoop runs callers goroutines for d, each of which calls again as soon as it
// was answered, with the next key of its sequence. A goroutine ends with its first error;
// closedLoop returns the first error of all.
func closedLoop(callers int, d time.Duration, keys keySpace, call func(key string) error) (tally, error) {
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
			latencies, err := loopUntil(end, keys(c), call)
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
