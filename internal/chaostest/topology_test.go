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
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// sidecars is the number of sidecars of a run.
const sidecars = 3

// topologies start a Redis each, and return it with its faults. If secure, all its servers accept only TLS.
var topologies = map[string]func(t *testing.T, secure bool) chaostest.Topology{
	"standalone": standalone,
	"flushed":    flushed,
	"sentinel":   sentinel,
	"cluster":    cluster,
}

// standalone is one server; each sidecar has a proxy of its own to it.
func standalone(t *testing.T, secure bool) chaostest.Topology {
	top, _ := onServer(t, secure)
	return top
}

// files returns the environment variables with the paths of the certificates; certs may be nil.
func files(certs *redistest.Certificates) []string {
	if certs == nil {
		return nil
	}
	return []string{
		"COXSWAIN_REDIS_TLS_CA_FILE=" + certs.CA, "COXSWAIN_REDIS_TLS_CERT_FILE=" + certs.Cert,
		"COXSWAIN_REDIS_TLS_KEY_FILE=" + certs.Key,
	}
}

func onServer(t *testing.T, secure bool) (chaostest.Topology, *redis.Client) {
	var top chaostest.Topology
	var server *redistest.Server
	var c *redis.Client
	if secure {
		s := redistest.StartTLS(t)
		server, c, top.Env = s.Server, s.Client(t), files(s.Certificates)
	} else {
		server = redistest.Start(t)
		c = server.Client(t)
	}
	scheme := map[bool]string{false: "redis://", true: "rediss://"}[secure]
	var ways []*chaostest.Way
	for i := range sidecars {
		w, err := chaostest.NewWay(fmt.Sprintf("way%d", i), strings.TrimPrefix(server.URL(), "redis://"))
		require.NoError(t, err)
		t.Cleanup(w.Stop)
		ways = append(ways, w)
		top.URLs = append(top.URLs, scheme+w.Addr())
	}
	do := func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() }
	top.Entries = entriesBy(c)
	top.Faults = slices.Concat(chaostest.WayFaults(ways), commands(do), refusals(do), []chaostest.Fault{readOnly(do)})
	// If two of these faults overlap, the end of the first resumes the server.
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
	return top, c
}

// flushed is standalone, but the server loses all data at times. Only the rules about fences then apply without
// exception; limits may admit one more full bucket for each loss.
func flushed(t *testing.T, secure bool) chaostest.Topology {
	const flush = "flush all"
	top, c := onServer(t, secure)
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

// sentinel is a master with two replicas. Sidecars get the master's address from the sentinels, so that no proxy can be
// put in between: all faults are injected into the servers.
func sentinel(t *testing.T, secure bool) chaostest.Topology {
	start := redistest.StartSentinel
	if secure {
		start = redistest.StartSentinelTLS
	}
	set := start(t)
	_, rest, _ := strings.Cut(set.URL(), "://")
	addrs, master, _ := strings.Cut(rest, "/")
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: master, SentinelAddrs: strings.Split(addrs, ","), TLSConfig: set.Config(t),
	})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	do := func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() }
	// A killed server comes back with the role of its first start. So it must not come back before the sentinels have
	// named another master.
	asked := redis.NewSentinelClient(&redis.Options{Addr: strings.Split(addrs, ",")[0], TLSConfig: set.Config(t)})
	t.Cleanup(func() { require.NoError(t, asked.Close()) })
	// Each sidecar notices a switch by its next probe of the sentinels, at most a second later; the old master is made
	// a replica at about that time.
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
		Env:    files(set.Certificates),
		Faults: slices.Concat(commands(do), sleeps(do), refusals(everywhere(set.Stores(), set.Config(t))), failovers(1, kill, func(int) { set.Failover() })),
		// Sentinels promote a replica whether or not it has all that the master wrote.
		Loses:   []string{chaostest.KillMaster, failover},
		Entries: entriesBy(c),
		Overlap: 2 * time.Second,
		Switches: func() []time.Time {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(switches)
		},
	}
}

// cluster has three masters with a replica each.
func cluster(t *testing.T, secure bool) chaostest.Topology {
	start := redistest.StartCluster
	if secure {
		start = redistest.StartClusterTLS
	}
	set := start(t)
	c := set.Client(t)
	do := func(ctx context.Context, args ...any) error {
		return c.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error { return node.Do(ctx, args...).Err() })
	}
	hit := []string{"a", "b", "c"} // one key of each master
	_, nodes, _ := strings.Cut(set.URL(), "://")
	return chaostest.Topology{
		URLs: slices.Repeat([]string{set.URL()}, sidecars),
		Env:  files(set.Certificates),
		Faults: slices.Concat(commands(do), sleeps(do), refusals(everywhere(strings.Split(nodes, ","), set.Config(t))), failovers(len(hit),
			func(i int) func() { return set.KillMaster(hit[i]) }, func(i int) { set.Failover(hit[i]) })),
		// In an orderly failover the master waits until its replica has everything.
		Loses:   []string{chaostest.KillMaster},
		Entries: entriesBy(c),
	}
}

// entriesBy reads streams of sidecars that have the default prefix.
func entriesBy(c redis.Cmdable) func(context.Context, string) ([]string, error) {
	const page = 1000
	return func(ctx context.Context, stream string) (all []string, err error) {
		key := coord.NewKeys(config.Default().Redis.Prefix, "").Key(coord.Escaped(stream), "stream:", "log")
		for from := "-"; ; {
			some, err := c.XRangeN(ctx, key, from, "+", page).Result()
			if err != nil {
				return nil, err
			}
			for _, m := range some {
				text, _ := m.Values["m"].(string) // an entry without it has no id, and so counts as one that no producer published
				all = append(all, text)
			}
			if len(some) < page {
				return all, nil
			}
			from = "(" + some[page-1].ID
		}
	}
}

// commands are faults that a server causes itself by a command.
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

// sleeps stop servers, for a shorter time than after which the others take them for dead.
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

const failover = "failover"

var errMasterDown = errors.New("left out: a master is down already")

// failovers kill a master, which comes back empty, or start an orderly failover to a replica; one at a time.
func failovers(targets int, kill func(int) func(), order func(int)) []chaostest.Fault {
	var mu sync.Mutex // guards down, and is held while a fault begins or ends
	down := false
	return []chaostest.Fault{
		{
			Name: chaostest.KillMaster, Targets: targets, Every: 12 * time.Second, Longest: 6 * time.Second,
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
