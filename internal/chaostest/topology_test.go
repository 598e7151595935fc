package chaostest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	"flushed":    flushed,
	"sentinel":   sentinel,
	"cluster":    cluster,
}

// standalone is one server, and each sidecar has a way of its own to it.
func standalone(t *testing.T) chaostest.Topology { return onServer(t, redistest.Start(t)) }

func onServer(t *testing.T, server *redistest.Server) chaostest.Topology {
	var top chaostest.Topology
	var ways []*chaostest.Way
	for i := range sidecars {
		w, err := chaostest.NewWay(fmt.Sprintf("way%d", i), strings.TrimPrefix(server.URL(), "redis://"))
		require.NoError(t, err)
		t.Cleanup(w.Stop)
		ways = append(ways, w)
		top.URLs = append(top.URLs, "redis://"+w.Addr())
	}
	c := server.Client(t)
	do := func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() }
	top.Faults = slices.Concat(chaostest.WayFaults(ways), commands(do), refusals(do), []chaostest.Fault{readOnly(do)})
	// Of two at once the first that ends goes on.
	var mu sync.Mutex
	signal := func(how func()) error {
		mu.Lock()
		defer mu.Unlock()
		how()
		return nil
	}
	top.Faults = append(top.Faults, chaostest.Fault{
		Name: "stop", Longest: 2 * time.Second, Weight: 2,
		Begin: func(chaostest.Event) (func() error, error) {
			return func() error { return signal(server.Resume) }, signal(server.Pause)
		},
	})
	return top
}

// flushed is standalone, and loses everything at times: what is left to check are
// fences, and limits by as much.
func flushed(t *testing.T) chaostest.Topology {
	const flush = "flush all"
	server := redistest.Start(t)
	top, c := onServer(t, server), server.Client(t)
	top.Faults = append(top.Faults, chaostest.Fault{
		Name: flush, Every: 4 * time.Second,
		Begin: func(chaostest.Event) (func() error, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return nil, c.FlushAll(ctx).Err()
		},
	})
	top.Loses = []string{flush}
	return top
}

// sentinel is a master with two replicas. Sidecars learn its address from the
// sentinels, so that nothing can be put on their ways: it is harmed itself.
func sentinel(t *testing.T) chaostest.Topology {
	set := redistest.StartSentinel(t)
	addrs, master, _ := strings.Cut(strings.TrimPrefix(set.URL(), "redis+sentinel://"), "/")
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: strings.Split(addrs, ",")})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	do := func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() }
	// A store comes back with the role that it was first started with, which would
	// contradict the sentinels as long as they still name it the master.
	asked := redis.NewSentinelClient(&redis.Options{Addr: strings.Split(addrs, ",")[0]})
	t.Cleanup(func() { require.NoError(t, asked.Close()) })
	// Of a switch each sidecar hears from the sentinels by its next probe, a second
	// later at most, and the old master is told off at about that time.
	heard := asked.Subscribe(context.Background(), "+switch-master")
	var mu sync.Mutex // guards switches
	var switches []time.Time
	var listening sync.WaitGroup
	listening.Go(func() {
		for range heard.Channel() {
			mu.Lock()
			switches = append(switches, time.Now())
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		require.NoError(t, heard.Close())
		listening.Wait()
	})
	named := func() string {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		addr, _ := asked.GetMasterAddrByName(ctx, master).Result()
		return strings.Join(addr, ":")
	}
	kill := func(int) func() {
		old := named()
		restart := set.KillMaster()
		return func() {
			defer restart()
			look, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
			defer look.Stop()
			for now := ""; now == "" || now == old; now = named() {
				select {
				case <-look.C:
				case <-late:
					return
				}
			}
		}
	}
	return chaostest.Topology{
		URLs:   slices.Repeat([]string{set.URL()}, sidecars),
		Faults: slices.Concat(commands(do), sleeps(do), refusals(everywhere(set.Stores())), failovers(1, kill, func(int) { set.Failover() })),
		// Sentinels promote a replica whether or not it has all that the master wrote.
		Loses:   []string{killMaster, failover},
		Overlap: 2 * time.Second,
		Switches: func() []time.Time {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(switches)
		},
	}
}

// cluster has three masters with a replica each.
func cluster(t *testing.T) chaostest.Topology {
	set := redistest.StartCluster(t)
	c := set.Client(t)
	do := func(ctx context.Context, args ...any) error {
		return c.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error { return node.Do(ctx, args...).Err() })
	}
	hit := []string{"a", "b", "c"} // one of each master
	nodes := strings.Split(strings.TrimPrefix(set.URL(), "redis+cluster://"), ",")
	return chaostest.Topology{
		URLs: slices.Repeat([]string{set.URL()}, sidecars),
		Faults: slices.Concat(commands(do), sleeps(do), refusals(everywhere(nodes)), failovers(len(hit),
			func(i int) func() { return set.KillMaster(hit[i]) }, func(i int) { set.Failover(hit[i]) })),
		// In an orderly failover the master waits until its replica has everything.
		Loses: []string{killMaster},
	}
}

// commands are harm that servers do to themselves when told to.
func commands(do func(context.Context, ...any) error) []chaostest.Fault {
	command := func(name string, weight int, args func(chaostest.Event) []any) chaostest.Fault {
		return chaostest.Fault{
			Name: name, Weight: weight,
			Begin: func(e chaostest.Event) (func() error, error) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				return nil, do(ctx, args(e)...)
			},
		}
	}
	return []chaostest.Fault{
		command("script flush", 4, func(chaostest.Event) []any { return []any{"SCRIPT", "FLUSH"} }),
		command("client pause", 2, func(e chaostest.Event) []any { return []any{"CLIENT", "PAUSE", 10 + 10*e.Dose, "ALL"} }),
		command("client kill", 3, func(chaostest.Event) []any { return []any{"CLIENT", "KILL", "TYPE", "normal"} }),
		command("kill listeners", 2, func(chaostest.Event) []any { return []any{"CLIENT", "KILL", "TYPE", "pubsub"} }),
	}
}

// sleeps stop servers, for less than makes the others believe that they are dead.
func sleeps(do func(context.Context, ...any) error) []chaostest.Fault {
	return []chaostest.Fault{{
		Name: "sleep", Weight: 2,
		Begin: func(e chaostest.Event) (func() error, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return nil, do(ctx, "DEBUG", "SLEEP", 0.05+0.005*float64(e.Dose))
		},
	}}
}

const (
	killMaster = "kill master"
	failover   = "failover"
)

var errMasterDown = errors.New("left out: a master is down already")

// failovers kill a master, which comes back empty, or have a replica take over in order; one at a time.
func failovers(targets int, kill func(int) func(), order func(int)) []chaostest.Fault {
	var mu sync.Mutex // for one goroutine at a time
	down := false
	return []chaostest.Fault{
		{
			Name: killMaster, Targets: targets, Every: 12 * time.Second, Longest: 6 * time.Second,
			Begin: func(e chaostest.Event) (func() error, error) {
				mu.Lock()
				defer mu.Unlock()
				if down {
					return nil, errMasterDown
				}
				restart := kill(e.Target)
				down = true
				return func() error {
					mu.Lock()
					defer mu.Unlock()
					restart()
					down = false
					return nil
				}, nil
			},
		},
		{
			Name: failover, Targets: targets, Every: 12 * time.Second,
			Begin: func(e chaostest.Event) (func() error, error) {
				mu.Lock()
				defer mu.Unlock()
				if down {
					return nil, errMasterDown
				}
				order(e.Target)
				return nil, nil
			},
		},
	}
}
