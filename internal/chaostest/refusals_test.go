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
	return func(ctx context.Context, args ...any) error {
		var failed []error
		for _, addr := range addrs {
			c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, TLSConfig: conf})
			if err := c.Do(ctx, args...).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
				failed = append(failed, err)
			}
			failed = append(failed, c.Close())
		}
		return errors.Join(failed...)
	}
}

// refusals have servers answer and refuse for a while. What a server refuses it
// has not done, so that no rule of histories bends for them.
func refusals(do func(context.Context, ...any) error) []chaostest.Fault {
	refusal := func(name string, begin, end []any) chaostest.Fault {
		tell := func(args []any) error {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return do(ctx, args...)
		}
		return chaostest.Fault{
			Name: name, Weight: 1, Longest: 2 * time.Second,
			Begin: func(chaostest.Event) (func() error, error) {
				return func() error { return tell(end) }, tell(begin)
			},
		}
	}
	return []chaostest.Fault{
		refusal("no memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}),
		refusal("few replicas", []any{"CONFIG", "SET", "min-replicas-to-write", "9"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}),
		refusal("lost command", []any{"ACL", "SETUSER", "default", "-evalsha"}, []any{"ACL", "SETUSER", "default", "+evalsha"}),
	}
}

// readOnly makes a lone server the replica of nobody, with its data.
func readOnly(do func(context.Context, ...any) error) chaostest.Fault {
	tell := func(args ...any) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return do(ctx, args...)
	}
	return chaostest.Fault{
		Name: "read only", Weight: 1, Longest: 2 * time.Second,
		Begin: func(chaostest.Event) (func() error, error) {
			return func() error { return tell("REPLICAOF", "NO", "ONE") }, tell("REPLICAOF", "127.0.0.1", "1")
		},
	}
}
