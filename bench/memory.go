package main

import (
	"context"
	"time"
)

const megabyte = 1e6

// idleMemory measures the most anonymous memory of a sidecar without calls, in MB.
func idleMemory(ctx context.Context, s *side, d time.Duration) (sample, error) {
	return s.beside(ctx, inPod("idle"), func(srv *server) (sample, error) {
		most, _, err := srv.mostMemory(ctx, func() (tally, error) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
			return tally{}, ctx.Err()
		})
		return sample{value: most / megabyte}, err
	})
}

// fullMemory measures the most anonymous memory of a sidecar with 256 connections that have 64
// calls in flight each, in MB.
func fullMemory(ctx context.Context, s *side, d time.Duration) (sample, error) {
	const connections, inFlight = 256, 64
	full := inPod("full")
	full.env = append(full.env, "COXSWAIN_LIMITS_MAX_TOTAL_BYTES=1073741824") // otherwise it refuses calls, and fewer are in flight
	return s.beside(ctx, full, func(srv *server) (sample, error) {
		most, got, err := srv.mostMemory(ctx, func() (tally, error) {
			return rawLoad(srv.socket, connections*inFlight, connections, d, shared(keyCount), rawAcquire(ruleName))
		})
		return sample{rate: got.rate(), p50: got.p50, p99: got.p99, value: most / megabyte}, err
	})
}

// distinctKeys is how many different keys a load of usualDuration uses; a shorter load
// uses fewer. The sidecar must not keep memory for any of them.
const distinctKeys = 1_000_000

// memoryGrowth measures the most anonymous memory while each call has a new key, divided by
// that under the same load on few keys before.
func memoryGrowth(ctx context.Context, s *side, d time.Duration) (sample, error) {
	share := min(1, d.Seconds()/usualDuration.Seconds())
	n := int(share * distinctKeys)
	return s.beside(ctx, inPod("keys"), func(srv *server) (sample, error) {
		before, _, err := srv.memoryOver(ctx, n/4, d/10, shared(keyCount))
		if err != nil {
			return sample{}, err
		}
		after, got, err := srv.memoryOver(ctx, n, d/10, inTurn(distinctKeys))
		return sample{rate: got.rate(), value: after / before}, err
	})
}

// memoryOver is mostMemory over at least n calls, made in loads of d.
func (srv *server) memoryOver(ctx context.Context, n int, d time.Duration, keys keySpace) (most float64, got tally, err error) {
	return srv.mostMemory(ctx, func() (sum tally, err error) {
		for sum.calls < n && err == nil {
			var part tally
			part, err = rawLoad(srv.socket, 64, connections, d, keys, rawAcquire(ruleName))
			sum.calls += part.calls
			sum.took += part.took
			if err == nil {
				err = ctx.Err()
			}
		}
		return sum, err
	})
}

// inPod is a sidecar with the memory limit of a pod with 128 MiB.
func inPod(name string) variant { return variant{name: name, env: []string{podMemory}} }

// mostMemory runs a load and returns the most anonymous memory of the process meanwhile, in bytes.
func (c *child) mostMemory(ctx context.Context, run func() (tally, error)) (most float64, got tally, err error) {
	ctx, cancel := context.WithCancel(ctx)
	looked := make(chan error, 1)
	go func() {
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for {
			now, err := c.memory(memoryAnonymous)
			most = max(most, now)
			if err != nil || ctx.Err() != nil {
				looked <- err
				return
			}
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
	}()
	got, err = run()
	cancel()
	if lookErr := <-looked; err == nil {
		err = lookErr
	}
	return most, got, err
}
