package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// node is one server that executes scripts: the single server, the current master that
// the sentinels name, or one master of a cluster. Each has its own pool, probe and
// condition, so that an unreachable server does not delay calls to others.
type node struct {
	of *Store
	// addr is the key of a cluster's node. reach returns the address to dial.
	addr  string
	reach func() (string, error)
	// resolve, if it is set, finds the current address of the server. Only the probe
	// calls it.
	resolve func(ctx context.Context) error

	conns   *conns
	client  *redis.Client // the pool of all calls
	batches *batches      // over client
	probe   *redis.Client // a connection of its own, so that a busy pool does not look like an outage

	apart   atomic.Bool  // the server refused a command with keys of several slots
	running atomic.Int64 // calls between send and reply
	crowd   Crowd        // of the calls

	loading chan struct{} // held while scripts are loaded
	loads   atomic.Uint64 // how often they were loaded
	had     atomic.Bool   // the server had all of them at some time

	condition atomic.Pointer[condition]
	seen      atomic.Pointer[seen]
	suspect   chan struct{}         // starts a round of the probe at once
	round     atomic.Pointer[round] // the round of the probe that is under way or comes next
	scratch   int                   // the number in the key that the probe writes to, see tryWriting

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// newNode makes a node and its clients. It does not wait for Redis; the caller starts
// watch, which probes the node.
func (s *Store) newNode(addr string, reach func() (string, error)) *node {
	n := &node{
		of: s, addr: addr, reach: reach,
		loading: make(chan struct{}, 1), suspect: make(chan struct{}, 1),
	}
	n.conns = newConns(func(ctx context.Context) (net.Conn, error) {
		at, err := n.reach()
		if err != nil {
			return nil, err
		}
		return s.connector.dial(ctx, at)
	})
	n.ctx, n.cancel = context.WithCancel(s.ctx)
	n.condition.Store(&condition{changed: make(chan struct{})})
	n.seen.Store(&seen{})
	n.round.Store(newRound())
	opt := s.connector.options(addr)
	calls, probe := opt, opt
	calls.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if c := n.condition.Load(); c.down() {
			return deadConn{&unsent{"down", c.trouble}}, nil
		}
		return n.dial(ctx), nil
	}
	probe.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx), nil }
	probe.PoolSize, probe.MaxActiveConns, probe.MinIdleConns = 2, 2, 0
	n.client, n.probe = redis.NewClient(&calls), redis.NewClient(&probe)
	n.batches = newBatches(n)
	n.wg.Go(n.batches.run)
	n.wg.Go(n.batches.settle)
	return n
}

// dial makes a connection; closing the node cancels it.
func (n *node) dial(ctx context.Context) net.Conn {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	return n.conns.connect(ctx)
}

// close ends the node and its connections. Calls that still run on it fail with why.
func (n *node) close(why error) error {
	closed := newTrouble("closed", why)
	n.cancel()
	n.conns.closeAll(closed, true)
	n.wg.Wait()
	n.become(false, closed)
	return errors.Join(n.client.Close(), n.probe.Close())
}
