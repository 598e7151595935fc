package main

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The names of rules in the configuration, and of the pool in Redis.
const (
	ruleName   = "bench"
	leasedRule = "leased"
	poolName   = "bench"
	poolSize   = 1_000
)

// clientCall returns a function that makes one call through package client.
type clientCall func(ctx context.Context, c *client.Client) func(key string) error

func clientAcquire(rule string) clientCall {
	return func(ctx context.Context, c *client.Client) func(string) error {
		return func(key string) error {
			_, err := client.Call(ctx, c, api.RatelimitAcquire, api.RatelimitParams{Rule: rule, Key: key})
			return err
		}
	}
}

func clientPing(ctx context.Context, c *client.Client) func(string) error {
	return func(string) error {
		_, err := client.Call(ctx, c, api.SessionPing, api.Nothing{})
		return err
	}
}

func clientLock(ctx context.Context, c *client.Client) func(string) error {
	return func(key string) error {
		l, err := c.LockAcquire(ctx, key, client.LockOptions{})
		if err != nil {
			return err
		}
		return l.Release(ctx)
	}
}

func clientPermit(ctx context.Context, c *client.Client) func(string) error {
	o := client.PermitOptions{Rule: ruleName, Breaker: "default"}
	return func(string) error {
		p, err := c.PermitAcquire(ctx, poolName, o)
		if err != nil {
			return err
		}
		return p.Release(ctx, client.Outcome{Kind: api.OutcomeOK})
	}
}

// fillPool puts the members of the pool of permits.
func fillPool(ctx context.Context, c *client.Client) error {
	p := api.PoolPutParams{Pool: poolName}
	for _, id := range table(poolSize) {
		p.Members = append(p.Members, api.PoolMember{ID: id})
	}
	_, err := c.PoolPut(ctx, p)
	return err
}

func rawAcquire(rule string) exchange {
	return exchange{{func(to []byte, id byte, key string, _ []byte) []byte {
		return appendCall(to, id, "ratelimit.acquire", [2]string{"rule", rule}, [2]string{"key", key})
	}, isTrue("allowed")}}
}

var rawPing = exchange{{func(to []byte, id byte, _ string, _ []byte) []byte {
	return appendCall(to, id, "session.ping")
}, nil}}

// rawLock uses the key as the token too, so that the release needs nothing from the answer.
var rawLock = exchange{{func(to []byte, id byte, key string, _ []byte) []byte {
	return appendCall(to, id, "lock.acquire", [2]string{"name", key}, [2]string{"token", key})
}, isTrue("acquired")}, {func(to []byte, id byte, key string, _ []byte) []byte {
	return appendCall(to, id, "lock.release", [2]string{"name", key}, [2]string{"token", key})
}, isTrue("released")}}

var rawPermit = exchange{{func(to []byte, id byte, _ string, _ []byte) []byte {
	return appendCall(to, id, "permit.acquire", [2]string{"pool", poolName}, [2]string{"rule", ruleName}, [2]string{"breaker", "default"})
}, isTrue("acquired")}, {func(to []byte, id byte, _ string, acquired []byte) []byte {
	return appendCall(to, id, "permit.report", [2]string{"pool", poolName}, [2]string{"lease", textOf(acquired, "lease")})
}, isTrue("released")}}

// echoed sends a response frame of 64 bytes, so that the echo of it is a valid response.
var echoed = exchange{{func(to []byte, id byte, _ string, _ []byte) []byte {
	to = append(to, 0x94, 0x01, 0xcc, id, 0xc0, 0xc4, 57)
	return append(to, make([]byte, 57)...)
}, nil}}

// dialed returns a client of a sidecar, with as many connections as the callers of the
// workload share.
func dialed(ctx context.Context, socket string, callers int) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.Dial(ctx, client.Options{Socket: socket, Connections: min(callers, connections)})
}
