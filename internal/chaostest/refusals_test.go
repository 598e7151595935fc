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

// everywhere sends a command to each server, also to replicas, since the role of a server may change before the fault
// ends. A server that is down is left out: when it comes back, it has the settings of its start.
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

// surely repeats a command, which must be idempotent, until the server has carried it out or is down. Other faults cut
// the connection, and a fault that was not ended would last until the end of the run.
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

// lasting returns a fault that one command begins and another one ends.
func lasting(name string, do func(context.Context, ...any) error, begin, end []any) chaostest.Fault {
	return chaostest.Fault{
		Name: name, Weight: 1, Longest: 2 * time.Second,
		Begin: func(chaostest.Event) (func() error, error) {
			return func() error { return surely(do, end) }, surely(do, begin)
		},
	}
}

// refusals are faults in which servers refuse commands for a while. A refused command was not carried out, so that all
// rules of histories apply without exception.
func refusals(do func(context.Context, ...any) error) []chaostest.Fault {
	return []chaostest.Fault{
		lasting("no memory", do, []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}),
		lasting("few replicas", do, []any{"CONFIG", "SET", "min-replicas-to-write", "9"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}),
		lasting("lost command", do, []any{"ACL", "SETUSER", "default", "-evalsha"}, []any{"ACL", "SETUSER", "default", "+evalsha"}),
	}
}

// readOnly makes a lone server read-only: it becomes the replica of an address at which no server is, and keeps its
// data.
func readOnly(do func(context.Context, ...any) error) chaostest.Fault {
	return lasting("read only", do, []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"})
}
