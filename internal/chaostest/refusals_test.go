package chaostest_test

import (
	"context"
	"crypto/tls"
	"errors"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

// everywhere tells each server a command, replicas too: the role of one may change
// before the harm ends. One that is not there comes back as it was at its start.
func everywhere(addrs []string, conf *tls.Config) func(context.Context, ...any) error {
	return func(_ context.Context, args ...any) error {
		var failed []error
		for _, addr := range addrs {
			c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, TLSConfig: conf})
			one := func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() }
			failed = append(failed, surely(one, args), c.Close())
		}
		return errors.Join(failed...)
	}
}

// surely repeats a command that may be repeated until the server has carried it out
// or is not there: other faults cut the connection, and a harm that was not ended
// would outlast the run.
func surely(do func(context.Context, ...any) error, args []any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := do(ctx, args...)
		if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// lasting is a harm that lasts from one command to another.
func lasting(name string, do func(context.Context, ...any) error, begin, end []any) chaostest.Fault {
	return chaostest.Fault{
		Name: name, Weight: 1, Longest: 2 * time.Second,
		Begin: func(chaostest.Event) (func() error, error) {
			return func() error { return surely(do, end) }, surely(do, begin)
		},
	}
}

// refusals have servers answer and refuse for a while. What a server refuses it
// has not done, so that no rule of histories bends for them.
func refusals(do func(context.Context, ...any) error) []chaostest.Fault {
	return []chaostest.Fault{
		lasting("no memory", do, []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}),
		lasting("few replicas", do, []any{"CONFIG", "SET", "min-replicas-to-write", "9"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}),
		lasting("lost command", do, []any{"ACL", "SETUSER", "default", "-evalsha"}, []any{"ACL", "SETUSER", "default", "+evalsha"}),
	}
}

// readOnly makes a lone server the replica of nobody, with its data.
func readOnly(do func(context.Context, ...any) error) chaostest.Fault {
	return lasting("read only", do, []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"})
}
