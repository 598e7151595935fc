package redistest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	masters = 3
	slots   = 16384
	// nodeTimeout in ms is long enough that a node on a busy machine does not count
	// as down, and short enough for tests to wait for a failover.
	nodeTimeout = "2000"
	// votes is how long a node counts the votes that it got: twice the node timeout.
	// A node that won an election, became a replica again, and then loses its master
	// within that time considers itself elected, under an old epoch that no other
	// node accepts (redis/redis#8753). To restart it instead would leave its shard
	// with an empty replica for a while, which chaos could then promote.
	votes = 4 * time.Second
)

// Cluster is a Redis Cluster of one test: three masters with a replica each.
// While a shard is down, it serves the slots of the others. Its methods are for
// one goroutine at a time.
type Cluster struct {
	serverSet
	elected time.Time // when the last orderly failover had ended
}

// StartCluster runs a private cluster that is ready, with replicas in sync; it
// ends with the test.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	return startCluster(t, false)
}

// StartClusterTLS is StartCluster with servers that speak TLS only, among each
// other too, and ask every client for a certificate.
func StartClusterTLS(t testing.TB) *Cluster {
	t.Helper()
	return startCluster(t, true)
}

func startCluster(t testing.TB, secure bool) *Cluster {
	t.Helper()
	c := &Cluster{serverSet: serverSet{t: t}}
	err := c.start(secure)
	t.Cleanup(c.stop)
	c.must(err)
	return c
}

// URL is redis+cluster:// with the addresses of all nodes, or rediss+cluster://.
func (c *Cluster) URL() string { return c.scheme("+cluster://") + addrs(c.nodes) }

// Client returns a plain client of the cluster, closed with the test.
func (c *Cluster) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: strings.Split(addrs(c.nodes), ","), TLSConfig: c.Config(t),
		DialTimeout: stall, ReadTimeout: stall, WriteTimeout: stall, PoolTimeout: stall,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// KillMaster kills (-9) the master that serves a key, once its replica is in
// sync, and returns at once. The replica takes over some seconds later, without the writes that were not
// replicated yet. Restart starts the killed server again, empty, on its old port.
func (c *Cluster) KillMaster(key string) (restart func()) {
	c.t.Helper()
	n := c.master(key)
	c.replica(n) // a replica that is still joining would never take over
	c.must(until("old votes to lapse", func() bool { return time.Since(c.elected) > votes }))
	n.kill()
	return c.restarter(n)
}

// replica returns the replica of a master, once it is in sync.
func (c *Cluster) replica(master *node) (replica *node) {
	c.t.Helper()
	id := master.myself()[0]
	c.must(until("a replica in sync", func() bool {
		i := slices.IndexFunc(c.nodes, func(n *node) bool {
			me := n.myself()
			return len(me) > 3 && me[3] == id && n.role() == "slave"
		})
		if i >= 0 {
			replica = c.nodes[i]
		}
		return i >= 0
	}))
	return replica
}

// Failover makes the replica of a key's master the master by CLUSTER FAILOVER,
// which loses no write, and returns when it is the master.
func (c *Cluster) Failover(key string) {
	c.t.Helper()
	slot, old := c.slot(key), c.master(key)
	replica := c.replica(old)
	// A node may lose votes to another election, so the command is repeated.
	asked := 0
	c.must(until("an orderly failover", func() bool {
		if asked%50 == 0 {
			_, _ = replica.do("cluster", "failover")
		}
		asked++
		return replica.serves(slot) && !old.serves(slot)
	}))
	c.elected = time.Now()
}

// Master returns the address of the master that serves a key.
func (c *Cluster) Master(key string) string {
	c.t.Helper()
	return c.master(key).addr
}

func (c *Cluster) slot(key string) int {
	for _, n := range c.nodes {
		if slot, err := n.do("cluster", "keyslot", key); err == nil {
			return int(slot.(int64))
		}
	}
	c.must(errors.New("no node of the cluster answers"))
	return 0
}

func (c *Cluster) master(key string) (owner *node) {
	c.t.Helper()
	slot := c.slot(key)
	c.must(until("a master for a slot", func() bool {
		// An old master may report itself as master for a while after a failover; the
		// higher epoch is the newer one.
		newest := -1
		for _, n := range c.nodes {
			me := n.myself() // called once: chaos may cut off the next reply
			if !serves(me, slot) {
				continue
			}
			if epoch, err := strconv.Atoi(me[6]); err == nil && epoch > newest {
				owner, newest = n, epoch
			}
		}
		return newest >= 0
	}))
	return owner
}

// myself returns the fields of the node's own line of CLUSTER NODES: id, address,
// flags, master, and its slots from the ninth field on.
func (n *node) myself() []string {
	if n.run == nil {
		return []string{""}
	}
	for line := range strings.Lines(n.info("cluster", "nodes")) {
		if strings.Contains(line, "myself") {
			return strings.Fields(line)
		}
	}
	return []string{""}
}

// serves reports whether the node considers itself the master of a slot.
func (n *node) serves(slot int) bool { return serves(n.myself(), slot) }

func serves(me []string, slot int) bool {
	if len(me) < 9 || !strings.Contains(me[2], "master") {
		return false
	}
	return slices.ContainsFunc(me[8:], func(span string) bool {
		from, to, ok := strings.Cut(span, "-")
		if !ok {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		return errA == nil && errB == nil && a <= slot && slot <= b
	})
}

func (c *Cluster) start(secure bool) (err error) {
	if err := c.prepare(secure); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	for range 2 * masters {
		if err := c.add(c.launch); err != nil {
			return err
		}
	}
	if err := c.join(); err != nil {
		return fmt.Errorf("form a cluster: %w", err)
	}
	return until("the cluster is whole", c.whole)
}

func (c *Cluster) launch(addr, dir string) (*process, error) {
	n, err := strconv.Atoi(port(addr))
	if err != nil {
		return nil, err
	}
	// The default port of the bus, 10000 above, is in the range of ports that outgoing
	// connections use. onFreePort gives no other server the port behind this one.
	bus := n + 1
	return launch(addr, dir, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", c.downAfter(nodeTimeout),
		"--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0",
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, c.args(addr)...))
}

// join makes the nodes meet, and then makes the first three the masters.
func (c *Cluster) join() error {
	first := c.nodes[0]
	for i, n := range c.nodes {
		if _, err := n.do("cluster", "set-config-epoch", i+1); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		p, err := strconv.Atoi(port(n.addr))
		if err != nil {
			return err
		}
		if _, err := first.do("cluster", "meet", "127.0.0.1", p, p+1); err != nil {
			return err
		}
	}
	for i, n := range c.nodes[:masters] {
		if _, err := n.do("cluster", "addslotsrange", slots*i/masters, slots*(i+1)/masters-1); err != nil {
			return err
		}
	}
	for i, n := range c.nodes[masters:] {
		id := c.nodes[i].myself()[0]
		if err := until("a replica knows its master", func() bool {
			_, err := n.do("cluster", "replicate", id)
			return err == nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether every node serves and has all the others in its list, and
// every replica has its master's data.
func (c *Cluster) whole() bool {
	for i, n := range c.nodes {
		info := n.info("cluster", "info")
		nodes := n.info("cluster", "nodes")
		if !strings.Contains(info, "cluster_state:ok") || strings.Count(nodes, "slave") != masters ||
			strings.Count(nodes, "\n") != len(c.nodes) || strings.Contains(nodes, "handshake") {
			return false
		}
		if i >= masters && n.role() != "slave" {
			return false
		}
	}
	return true
}
