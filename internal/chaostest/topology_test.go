package chaostest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// sidecars is how many a run has.
const sidecars = 3

// topologies start a Redis each, with what can be done to it.
var topologies = map[string]func(*testing.T) chaostest.Topology{
	"standalone": standalone,
}

// standalone is one server, and each sidecar has a way of its own to it.
func standalone(t *testing.T) chaostest.Topology {
	server := redistest.Start(t)
	var top chaostest.Topology
	var ways []*chaostest.Way
	for i := range sidecars {
		w, err := chaostest.NewWay(fmt.Sprintf("way%d", i), strings.TrimPrefix(server.URL(), "redis://"))
		require.NoError(t, err)
		t.Cleanup(w.Stop)
		ways = append(ways, w)
		top.URLs = append(top.URLs, "redis://"+w.Addr())
	}
	n := nodes{of: []redis.Cmdable{server.Client(t)}}
	top.Faults = append(chaostest.WayFaults(ways), n.faults()...)
	// Two of them at once end when the first does.
	var mu sync.Mutex
	top.Faults = append(top.Faults, chaostest.Fault{
		Name: "stop", Longest: 2 * time.Second, Weight: 2,
		Begin: func(chaostest.Event) (func() error, error) {
			mu.Lock()
			defer mu.Unlock()
			server.Pause()
			return func() error {
				mu.Lock()
				defer mu.Unlock()
				server.Resume()
				return nil
			}, nil
		},
	})
	return top
}

// nodes are servers that take commands which harm.
type nodes struct{ of []redis.Cmdable }

func (n nodes) faults() []chaostest.Fault {
	command := func(name string, weight int, args func(chaostest.Event) []any) chaostest.Fault {
		return chaostest.Fault{
			Name: name, Targets: len(n.of), Weight: weight,
			Begin: func(e chaostest.Event) (func() error, error) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				return nil, n.of[e.Target].(redis.UniversalClient).Do(ctx, args(e)...).Err()
			},
		}
	}
	return []chaostest.Fault{
		command("script flush", 4, func(chaostest.Event) []any { return []any{"SCRIPT", "FLUSH"} }),
		command("client pause", 2, func(e chaostest.Event) []any {
			return []any{"CLIENT", "PAUSE", 10 + 10*e.Dose, "ALL"}
		}),
		command("client kill", 3, func(chaostest.Event) []any { return []any{"CLIENT", "KILL", "TYPE", "normal"} }),
		command("kill listeners", 2, func(chaostest.Event) []any { return []any{"CLIENT", "KILL", "TYPE", "pubsub"} }),
	}
}
