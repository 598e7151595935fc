package main

import (
	"math/bits"
	"sync"
	"time"
)

// benchResult is the result of sidecar bench. Programs rely on its JSON names.
type benchResult struct {
	Method      string           `json:"method"`
	Callers     int              `json:"callers"`
	Connections int              `json:"connections"`
	Keys        int              `json:"keys"`
	DurationMS  int64            `json:"duration_ms"` // from the first call to the last answer
	Calls       int64            `json:"calls"`       // the calls that were answered, refusals included
	Rate        float64          `json:"calls_per_second"`
	P50US       int64            `json:"p50_us"`
	P99US       int64            `json:"p99_us"`
	MaxUS       int64            `json:"max_us"`
	Refused     int64            `json:"refused"`
	Errors      map[string]int64 `json:"errors"` // calls that failed, by code

	first error
}

// longestPause is the longest pause between a caller's calls while they fail, so that a caller does not
// call a sidecar that is gone in a busy loop.
const longestPause = 100 * time.Millisecond

// measured runs callers for d. Each calls again as soon as it is answered.
func measured(callers int, d time.Duration, call func(caller, n int) (granted bool, err error)) *benchResult {
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex // guards all and r
		all latencies
	)
	r := &benchResult{Errors: map[string]int64{}}
	start := time.Now()
	end := start.Add(d)
	for caller := range callers {
		wg.Go(func() {
			var own latencies
			var refused int64
			var pause time.Duration
			for n, sent := 0, time.Now(); n == 0 || sent.Before(end); n++ {
				granted, err := call(caller, n)
				now := time.Now()
				if err != nil {
					mu.Lock()
					r.Errors[codeOf(err)]++
					if r.first == nil {
						r.first = err
					}
					mu.Unlock()
					pause = min(2*pause+time.Millisecond, longestPause)
					time.Sleep(min(pause, time.Until(end)))
					sent = time.Now()
					continue
				}
				pause = 0
				own.add(now.Sub(sent))
				if !granted {
					refused++
				}
				sent = now
			}
			mu.Lock()
			defer mu.Unlock()
			all.merge(&own)
			r.Refused += refused
		})
	}
	wg.Wait()
	took := time.Since(start)
	r.DurationMS, r.Calls = took.Milliseconds(), all.count
	r.Rate = float64(all.count) / took.Seconds()
	r.P50US, r.P99US, r.MaxUS = all.quantile(0.5).Microseconds(), all.quantile(0.99).Microseconds(), all.longest.Microseconds()
	return r
}

// latencies counts durations in buckets whose width is at most a 32nd of their lower edge, so that a
// load of hours needs no more memory than one of seconds. The zero value is ready to use.
type latencies struct {
	buckets [64 << fineness]int64
	count   int64
	longest time.Duration
}

const fineness = 5

func (l *latencies) add(d time.Duration) {
	d = max(d, 0) // the clock may have been set back
	l.buckets[bucketOf(uint64(d))]++
	l.count++
	l.longest = max(l.longest, d)
}

func (l *latencies) merge(o *latencies) {
	for i, n := range &o.buckets {
		l.buckets[i] += n
	}
	l.count += o.count
	l.longest = max(l.longest, o.longest)
}

// quantile returns the q-quantile of the durations: the upper edge of its bucket, but at most the
// longest duration.
func (l *latencies) quantile(q float64) time.Duration {
	rank := int64(q * float64(l.count))
	for i, n := range &l.buckets {
		rank -= n
		if rank < 0 {
			return min(edgeOf(i), l.longest)
		}
	}
	return l.longest
}

// bucketOf returns the bucket of a number by its highest bits. Small numbers have a bucket each.
func bucketOf(n uint64) int {
	shift := max(0, bits.Len64(n)-fineness-1)
	return shift<<fineness + int(n>>shift)
}

// edgeOf returns the largest number of a bucket.
func edgeOf(bucket int) time.Duration {
	shift := max(0, bucket>>fineness-1)
	top := uint64(bucket - shift<<fineness)
	return time.Duration((top+1)<<shift - 1)
}
