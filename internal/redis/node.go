package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// node is one server that executes scripts: the only one there is, the present master
// that sentinels name, or one master of a cluster. Each has its own pool, probe and
// condition, so that a server that is away does not hold up calls to others.
type node struct {
	of *Store
	// addr is the key of a cluster's node. reach returns the address that is dialled.
	addr  string
	reach func() (string, error)
	// resolve, if it is set, finds out where the server is now. Only the probe calls
	// it.
	resolve func(ctx context.Context) error

	conns   *conns
	client  *redis.Client // the pool of all calls
	batches *batches      // over client
	probe   *redis.Client // a connection of its own, so that a busy pool does not look like an outage

	apart   atomic.Bool  // keys of several slots were refused in one command
	running atomic.Int64 // calls between send and answer
	crowd   Crowd        // of the calls

	loading chan struct{} // held while scripts are loaded
	loads   atomic.Uint64 // how often they were
	had     atomic.Bool   // the server has had all of them

	condition atomic.Pointer[condition]
	seen      atomic.Pointer[seen]
	suspect   chan struct{}         // asks the probe to look now
	round     atomic.Pointer[round] // closed when the probe has looked
	scratch   int                   // the number in the key that the probe writes to, see tryWriting

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// newNode makes a node and its clients. It waits for nothing; the caller starts watch,
// which probes the node.
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
