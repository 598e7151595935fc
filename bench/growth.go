package main

import (
	"context"
	"fmt"
	"time"
)

// series is the same load at growing numbers of keys, connections or masters.
type series struct {
	of     string // what grows
	points []point
}

type point struct {
	label string // how many there are
	load
}

func (s series) loads() (names []string) {
	for _, p := range s.points {
		names = append(names, p.name)
	}
	return names
}

func (s series) all() (all []load) {
	for _, p := range s.points {
		all = append(all, p.load)
	}
	return all
}

var growthOverKeys = func() series {
	s := series{of: "keys, 64 callers"}
	for _, n := range []int{10, 1_000, 100_000, 1_000_000} {
		s.points = append(s.points, point{fmt.Sprint(n), load{
			fmt.Sprintf("raw acquire 64, %d keys", n), false, byHand(64, connections, shared(n), rawAcquire(ruleName)),
		}})
	}
	return s
}()

var growthOverConnections = func() series {
	s := series{of: "connections, 256 callers"}
	for _, n := range []int{1, 16, 256} {
		s.points = append(s.points, point{fmt.Sprint(n), load{
			fmt.Sprintf("raw acquire 256, %d connections", n), false, byHand(256, n, shared(keyCount), rawAcquire(ruleName)),
		}})
	}
	return s
}()

var growthOverMasters = series{"masters of a cluster, 64 callers", []point{
	{"1", load{"raw acquire 64, 1 master", false, onCluster(1)}},
	{"3", load{"raw acquire 64, 3 masters", false, onCluster(3)}},
}}

// onCluster is the workload on a Redis Cluster of so many masters, which runs for this
// load alone. The CPU of its nodes is not measured.
func onCluster(masters int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		c, err := startCluster(ctx, s.lab.dir, masters)
		defer c.stop()
		if err != nil {
			return sample{}, err
		}
		return s.beside(ctx, variant{name: "cluster", redis: c.url(), elsewhere: true}, func(srv *server) (sample, error) {
			return s.started(ctx, srv, d)
		})
	}
}
