package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// startToReady measures how long a sidecar takes from the start of its process until health.get
// reports it as ready, in ms.
func startToReady(ctx context.Context, s *side, _ time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	begun := time.Now()
	srv, err := s.spawn(variant{name: "starting"})
	if err != nil {
		return sample{}, err
	}
	defer srv.stop()
	for {
		ready, err := isReady(ctx, srv.socket)
		if ready {
			return sample{value: time.Since(begun).Seconds() * 1000}, nil
		}
		select {
		case <-ctx.Done():
			return sample{}, fmt.Errorf("start to ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(time.Millisecond):
		}
	}
}

func isReady(ctx context.Context, socket string) (bool, error) {
	c, err := client.Dial(ctx, client.Options{Socket: socket, FailFast: true})
	if err != nil {
		return false, err
	}
	defer c.Close()
	h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
	return err == nil && h.Ready, err
}
