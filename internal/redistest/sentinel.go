package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	masterName = "mymaster"
	stores     = 3
	sentinels  = 3
)

// Sentinel is a master with two replicas and three sentinels of one test. Its
// methods are for one goroutine at a time.
type Sentinel struct{ serverSet }

// StartSentinel runs a private set that is ready, with replicas in sync and
// sentinels that know each other; it ends with the test.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	return startSentinel(t, false)
}

// StartSentinelTLS is StartSentinel with servers and sentinels that speak TLS
// only, among each other too, and ask every client for a certificate.
func StartSentinelTLS(t testing.TB) *Sentinel {
	t.Helper()
	return startSentinel(t, true)
}

func startSentinel(t testing.TB, secure bool) *Sentinel {
	t.Helper()
	s := &Sentinel{serverSet{t: t}}
	err := s.start(secure)
	t.Cleanup(s.stop)
	s.must(err)
	return s
}

// URL is redis+sentinel:// with the addresses of all sentinels and the master's
// name, or rediss+sentinel://.
func (s *Sentinel) URL() string {
	return s.scheme("+sentinel://") + addrs(s.nodes[stores:]) + "/" + masterName
}

// Stores returns the addresses of the master and its replicas, in no order of roles.
func (s *Sentinel) Stores() []string { return strings.Split(addrs(s.nodes[:stores]), ",") }

// Client returns a plain client of the current master, closed with the test; it
// does not follow a failover.
func (s *Sentinel) Client(t testing.TB) *redis.Client {
	t.Helper()
	return clientOf(t, &redis.Options{Addr: s.master().addr, TLSConfig: s.Config(t)})
}

// KillMaster kills (-9) the master and returns at once; the sentinels promote a
// replica some seconds later. Restart waits for that and starts the killed server
// again, empty, on its old port.
func (s *Sentinel) KillMaster() (restart func()) {
	s.t.Helper()
	n := s.master()
	n.kill()
	again := s.restarter(n)
	return func() {
		// The server restarts with the role that it was first started with. If it then
		// reports to be a replica, sentinels that still name it the master wait 20 s
		// before they elect another.
		s.master()
		again()
	}
}

// Failover makes the sentinels promote a replica, and returns when that replica
// reports to be the master.
func (s *Sentinel) Failover() {
	s.t.Helper()
	old := s.master()
	asked := 0
	s.must(until("a failover by the sentinels", func() bool {
		if asked%250 == 0 { // they refuse while replicas are not in sync
			_, _ = s.nodes[stores].do("sentinel", "failover", masterName)
		}
		asked++
		n := s.announced()
		return n != nil && n != old && n.role() == "master"
	}))
}

// master returns the node that the sentinels name, once it reports to be the master.
func (s *Sentinel) master() (n *node) {
	s.t.Helper()
	s.must(until("a master", func() bool {
		n = s.announced()
		return n != nil && n.role() == "master"
	}))
	return n
}

// announced returns the node that most sentinels name, nil while they do not agree.
func (s *Sentinel) announced() *node {
	votes := map[string]int{}
	for _, n := range s.nodes[stores:] {
		reply, err := n.do("sentinel", "get-master-addr-by-name", masterName)
		pair, _ := reply.([]any)
		if err != nil || len(pair) != 2 {
			continue
		}
		votes[fmt.Sprintf("%v:%v", pair...)]++
	}
	i := slices.IndexFunc(s.nodes[:stores], func(n *node) bool { return n.run != nil && votes[n.addr] >= 2 })
	if i < 0 {
		return nil
	}
	return s.nodes[i]
}

func (s *Sentinel) start(secure bool) (err error) {
	if err := s.prepare(secure); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	for i := range stores {
		args := []string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}
		if i > 0 {
			args = append(args, "--replicaof", "127.0.0.1", port(s.nodes[0].addr))
		}
		if err := s.add(func(addr, dir string) (*process, error) {
			return launch(addr, dir, append(s.args(addr), args...))
		}); err != nil {
			return err
		}
	}
	for range sentinels {
		if err := s.add(s.launchSentinel); err != nil {
			return err
		}
	}
	return until("the sentinels know each other and the replicas", s.whole)
}

// launchSentinel starts a sentinel with a configuration of its own, which the
// sentinel rewrites; a restarted one uses the rewritten one.
func (s *Sentinel) launchSentinel(addr, dir string) (*process, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "sentinel.conf")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) || len(s.nodes) < stores+sentinels {
		text := fmt.Sprintf("bind %s\nport %s\ndir %s\n"+
			"sentinel monitor %[4]s %[1]s %[5]s 2\n"+
			"sentinel down-after-milliseconds %[4]s %[6]s\n"+
			"sentinel failover-timeout %[4]s 4000\n"+
			"sentinel parallel-syncs %[4]s 2\n", host, p, dir, masterName, port(s.nodes[0].addr), s.downAfter("1000"))
		for arg := range slices.Chunk(s.args(addr), 2) {
			text += strings.TrimPrefix(arg[0], "--") + " " + arg[1] + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return spawn(addr, "Sentinel ID is", []string{file, "--sentinel"})
}

// whole reports whether every sentinel has found the other two and both replicas,
// and those have the master's data.
func (s *Sentinel) whole() bool {
	for _, n := range s.nodes[1:stores] {
		if n.role() != "slave" {
			return false
		}
	}
	for _, n := range s.nodes[stores:] {
		reply, err := n.do("sentinel", "master", masterName)
		list, _ := reply.([]any)
		fields := map[any]any{}
		for i := 0; i+1 < len(list); i += 2 {
			fields[list[i]] = list[i+1]
		}
		if err != nil || fields["num-slaves"] != "2" || fields["num-other-sentinels"] != "2" || fields["flags"] != "master" {
			return false
		}
	}
	return s.announced() != nil
}
