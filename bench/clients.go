package main

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// clients call through package client: one of a single connection for one
// caller, one of as many as the workload has for all others.
type clients struct{ one, many *client.Client }

func dialClients(ctx context.Context, socket string) (*clients, error) {
	one, err := client.Dial(ctx, client.Options{Socket: socket})
	if err != nil {
		return nil, err
	}
	many, err := client.Dial(ctx, client.Options{Socket: socket, Connections: connections})
	if err != nil {
		_ = one.Close() // the error that counts is the other
		return nil, err
	}
	return &clients{one, many}, nil
}

func (c *clients) close() {
	_ = c.one.Close() // it holds nothing
	_ = c.many.Close()
}

func (c *clients) of(callers int) *client.Client {
	if callers == 1 {
		return c.one
	}
	return c.many
}

func (c *clients) acquire(ctx context.Context, callers int, d time.Duration) (load, error) {
	cl := c.of(callers)
	return closedLoop(callers, d, func(key string) error {
		_, err := client.Call(ctx, cl, api.RatelimitAcquire, api.RatelimitParams{Rule: ruleName, Key: key})
		return err
	})
}

func (c *clients) ping(ctx context.Context, callers int, d time.Duration) (load, error) {
	cl := c.of(callers)
	return closedLoop(callers, d, func(string) error {
		_, err := client.Call(ctx, cl, api.SessionPing, api.Nothing{})
		return err
	})
}
