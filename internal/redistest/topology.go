package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Topologies runs a test on a cluster and on a master with sentinels, as
// subtests. Both are always processes, shared by the test binary: started on
// first use, since that takes seconds, and ended by Main. Tests share them by
// key prefix and neither stop nor fail over any of their servers. Name such a
// test TestTopology..., so that it runs with make test-topology only.
func Topologies(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("cluster", func(t *testing.T) { test(t, SharedCluster(t)) })
	t.Run("sentinel", func(t *testing.T) { test(t, sharedSentinel.url(t)) })
}

// SharedCluster returns the URL of the cluster that Topologies uses.
func SharedCluster(t testing.TB) string {
	t.Helper()
	return sharedCluster.url(t)
}

var (
	sharedCluster = once{what: "a cluster of " + binary + " processes", start: func() (set, error) {
		c := &Cluster{}
		return c, c.start(false)
	}}
	sharedSentinel = once{what: "a master with sentinels, " + binary + " processes,", start: func() (set, error) {
		s := &Sentinel{}
		return s, s.start(false)
	}}
)

// set is a set of servers that is started and ended as one.
type set interface {
	URL() string
	stop()
}

// once is a set that the whole test binary shares.
type once struct {
	what  string
	start func() (set, error)

	sync.Once
	set set
	err error
}

func (o *once) url(t testing.TB) string {
	t.Helper()
	o.Do(func() {
		o.set, o.err = o.start()
		if o.err == nil {
			fmt.Fprintf(os.Stderr, "redistest: using %s at %s\n", o.what, o.set.URL())
		}
	})
	if o.err != nil {
		t.Fatalf("redistest: %v", o.err)
	}
	t.Logf("redistest: using %s at %s", o.what, o.set.URL())
	return o.set.URL()
}

// stopTopologies ends what Topologies started.
func stopTopologies() {
	for _, o := range []*once{&sharedCluster, &sharedSentinel} {
		if o.set != nil {
			o.set.stop()
		}
	}
}

// node is one server of a set: it may be killed and started again on its port.
type node struct {
	addr  string
	start func(addr string) (*process, error)
	run   *process // nil while killed
	certs *Certificates
}

func (n *node) kill() {
	if n.run != nil {
		n.run.kill()
		n.run = nil
	}
}

func (n *node) restart() error {
	n.kill()
	p, err := n.start(n.addr)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	n.run = p
	return nil
}

// do runs one command on the node, over a connection of its own.
func (n *node) do(args ...any) (any, error) {
	conf, err := n.certs.config()
	if err != nil {
		return nil, err
	}
	c := redis.NewClient(&redis.Options{
		Addr: n.addr, Protocol: 2, MaxRetries: -1, TLSConfig: conf, DialTimeout: stall, ReadTimeout: stall,
	})
	defer func() { _ = c.Close() }()
	return c.Do(context.Background(), args...).Result()
}

// info runs a command on the node whose reply is lines of text.
func (n *node) info(args ...any) string {
	reply, err := n.do(args...)
	if err != nil {
		return ""
	}
	text, _ := reply.(string)
	return text
}

// role returns master or slave, or an empty text if the node does not reply or is a
// replica that does not have all of its master's data yet.
func (n *node) role() string {
	info := n.info("info", "replication")
	switch {
	case strings.Contains(info, "role:master"):
		return "master"
	case strings.Contains(info, "master_link_status:up"):
		return "slave"
	}
	return ""
}

// serverSet is what all sets have in common.
type serverSet struct {
	t             testing.TB // nil when shared
	dir           string
	nodes         []*node
	*Certificates // nil if the servers do not use TLS
}

// downAfter returns after how many milliseconds of silence a server counts as down: own if one test owns the set. In a
// shared set, which has no t, no test causes a failover, and a server that a busy machine does not run for some seconds
// must not be replaced.
func (s *serverSet) downAfter(own string) string {
	if s.t == nil {
		return "60000"
	}
	return own
}

// prepare makes the set's folder and, if it uses TLS, its certificates.
func (s *serverSet) prepare(secure bool) (err error) {
	if s.dir, err = os.MkdirTemp("", "redistest"); err == nil && secure {
		s.Certificates, err = newCertificates(s.dir)
	}
	return err
}

func (s *serverSet) stop() {
	for _, n := range s.nodes {
		n.kill()
	}
	_ = os.RemoveAll(s.dir)
}

// add starts one more server with a folder of its own.
func (s *serverSet) add(start func(addr, dir string) (*process, error)) error {
	dir := filepath.Join(s.dir, fmt.Sprint(len(s.nodes)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	n := &node{start: func(addr string) (*process, error) { return start(addr, dir) }, certs: s.Certificates}
	var err error
	if n.run, err = onFreePort(n.start); err != nil {
		return err
	}
	n.addr = n.run.addr
	s.nodes = append(s.nodes, n)
	return nil
}

// must ends the test on an error.
func (s *serverSet) must(err error) {
	if s.t == nil {
		panic("redistest: a shared set of servers was disturbed")
	}
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("redistest: %v; the servers:\n%s", err, s.states())
	}
}

// states returns what each server reports about itself, for the error of a change that did not happen.
func (s *serverSet) states() string {
	var b strings.Builder
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "%s: %s\n", n.addr, strings.Join(strings.Fields(n.info("info", "replication")), " "))
	}
	return b.String()
}

// restarter returns the Restart function of KillMaster, which starts a killed server again.
func (s *serverSet) restarter(n *node) func() {
	return func() { s.must(n.restart()) }
}

// addrs joins the addresses of nodes as a URL lists them.
func addrs(nodes []*node) string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.addr
	}
	return strings.Join(list, ",")
}

// patience bounds how long a test waits for a change of a set of servers. It is long,
// for a busy machine; no test depends on it.
const patience = 5 * time.Minute

// until waits until a change has happened.
func until(what string, done func() bool) error {
	end := time.After(patience)
	for {
		if done() {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-end:
			return errors.New("waited in vain: " + what)
		}
	}
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return p
}
