package main

import (
	"context"
	"fmt"
	"time"
)

// The fleet is fleetPods pods on one Redis, each with fleetCallers callers.
const (
	fleetPods    = 8
	fleetCallers = 8
)

// rateFleet measures pods that run redis_rate in their own process.
func rateFleet(ctx context.Context, s *side, d time.Duration) (sample, error) {
	var tasks []task
	for range fleetPods {
		tasks = append(tasks, task{Kind: kindRate, Addr: s.lab.redisAddr, Callers: fleetCallers, Duration: d})
	}
	return s.fleet(ctx, tasks)
}

// clientFleet measures pods that call their sidecars through package client; each pod is a
// process and a sidecar.
func clientFleet(ctx context.Context, s *side, d time.Duration) (sample, error) {
	var tasks []task
	var pods []*server
	defer func() {
		for _, p := range pods {
			p.stop()
		}
	}()
	for i := range fleetPods {
		srv, err := s.serve(ctx, variant{name: fmt.Sprint("pod-", i)})
		if err != nil {
			return sample{}, err
		}
		pods = append(pods, srv)
		tasks = append(tasks, task{Kind: kindClient, Socket: srv.socket, Callers: fleetCallers, Duration: d})
	}
	return s.fleet(ctx, tasks)
}

func (s *side) fleet(ctx context.Context, tasks []task) (sample, error) {
	return s.lab.metered(ctx, nil, func() (tally, error) {
		r, err := together(tasks)
		return tally{calls: r.Calls, took: r.Took}, err
	})
}
