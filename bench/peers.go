package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redis/redis_rate/v10"
	goredis "github.com/redis/go-redis/v9"
)

// rateLimit returns a call of go-redis/redis_rate with the limit of the workload.
func rateLimit(ctx context.Context, db *goredis.Client) func(key string) error {
	limiter := redis_rate.NewLimiter(db)
	limit := redis_rate.PerSecond(1_000_000)
	return func(key string) error {
		_, err := limiter.Allow(ctx, key, limit)
		return err
	}
}

func inProcessRate(callers int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		return s.lab.metered(ctx, nil, func() (tally, error) {
			return closedLoop(callers, d, shared(keyCount), rateLimit(ctx, s.lab.db))
		})
	}
}

// redisLock acquires and releases locks by bsm/redislock in this process.
func redisLock(callers int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		locks := redislock.New(s.lab.db)
		return s.lab.metered(ctx, nil, func() (tally, error) {
			return closedLoop(callers, d, inTurn(keyCount), func(key string) error {
				l, err := locks.Obtain(ctx, key, 30*time.Second, nil)
				if err != nil {
					return err
				}
				return l.Release(ctx)
			})
		})
	}
}

// direct is the sidecar's own script, called one at a time by this process.
func direct(ctx context.Context, s *side, d time.Duration) (sample, error) {
	return s.lab.metered(ctx, nil, func() (tally, error) {
		return closedLoop(1, d, shared(keyCount), func(key string) error { return s.script.eval(ctx, s.lab.db, key) })
	})
}

// redisBenchmark measures what Redis itself can do: redis-benchmark runs the same script
// on the same keys, 16 commands in a pipeline, for about d.
func redisBenchmark(ctx context.Context, s *side, d time.Duration) (sample, error) {
	_, port, err := net.SplitHostPort(s.lab.redisAddr)
	if err != nil {
		return sample{}, err
	}
	calls := max(20_000, int(100_000*d.Seconds()))
	args := []string{
		"-h", "127.0.0.1", "-p", port, "-P", "16", "-c", "50", "-n", strconv.Itoa(calls), "-r", strconv.Itoa(keyCount), "--csv",
		"EVALSHA", s.script.SHA, strconv.Itoa(len(s.script.Keys)),
	}
	args = append(args, s.script.Keys...) // redis-benchmark puts a different number into each; no key has a pace, so a mixed-up one changes nothing
	for _, a := range s.script.Args {
		args = append(args, fmt.Sprint(a))
	}
	before, err := s.lab.redisCPU(ctx)
	if err != nil {
		return sample{}, err
	}
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
	if err != nil {
		return sample{}, fmt.Errorf("redis-benchmark: %w", err)
	}
	after, err := s.lab.redisCPU(ctx)
	if err != nil {
		return sample{}, err
	}
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[len(rows)-1]) < 2 {
		return sample{}, fmt.Errorf("redis-benchmark printed %q: %w", out, err)
	}
	perSecond, err := strconv.ParseFloat(rows[len(rows)-1][1], 64)
	return sample{rate: perSecond, redis: (after - before) / time.Duration(calls)}, err
}
