package lua

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// sentinels know which server is the master. They are asked by the probe only;
// calls dial where it found the master last.
type sentinels struct {
	of    *Runner
	addrs []string // in the order in which they are asked
	now   atomic.Pointer[string]
}

// master is where the master was last, empty before it was found.
func (s *sentinels) master() string {
	if now := s.now.Load(); now != nil {
		return *now
	}
	return ""
}

// find asks for the master. When that is another server than before, no
// connection to the old one is used any more: it may still take writes that
// will be thrown away. While no sentinel answers, the last master is kept: their
// outage is none of Redis.
func (s *sentinels) find(ctx context.Context, n *node) error {
	var failed []error
	tried := map[string]bool{}
	for i, addr := range s.addrs {
		at, err := s.ask(ctx, addr)
		switch {
		case err != nil:
			failed = append(failed, err)
			continue
		case tried[at]:
			continue
		}
		tried[at] = true
		s.set(n, at)
		if err := isMaster(ctx, n); err != nil {
			// A sentinel that was cut off may not know of a failover.
			failed = append(failed, err)
			continue
		}
		// Whoever was right is asked first the next time; only the probe is here.
		s.addrs[0], s.addrs[i] = s.addrs[i], s.addrs[0]
		return nil
	}
	if len(tried) == 0 && s.master() != "" {
		return isMaster(ctx, n)
	}
	return fmt.Errorf("no sentinel names a master that answers: %w", errors.Join(failed...))
}

func (s *sentinels) set(n *node, at string) {
	if before := s.now.Swap(&at); before != nil && *before != at {
		s.of.log.Warn("the sentinels name another master", "address", s.of.address)
		n.conns.closeAll(false)
		s.of.listened.closeAll(false)
	}
}

// isMaster refuses a server that is none any more, or not yet.
func isMaster(ctx context.Context, n *node) error {
	role, err := n.probe.Do(ctx, "role").Slice()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"): // then READONLY tells
		return nil
	case err != nil:
		return err
	case len(role) == 0 || role[0] != "master":
		return errors.New("the server that the sentinels name is not a master yet")
	}
	return nil
}

// ask asks one sentinel. Those that want a password are given the servers'.
func (s *sentinels) ask(ctx context.Context, addr string) (string, error) {
	c := s.of.connector
	ctx, cancel := context.WithTimeout(ctx, c.opt.DialTimeout)
	defer cancel()
	opt := c.options(addr)
	opt.OnConnect, opt.MinIdleConns, opt.PoolSize = nil, 0, 1
	opt.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return c.dial(ctx, addr) }
	client := redis.NewClient(&opt)
	defer func() { _ = client.Close() }()
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	pair, err := conn.Do(ctx, "sentinel", "get-master-addr-by-name", c.target.master).StringSlice()
	if redis.HasErrorPrefix(err, "NOAUTH") {
		var username, password string
		if username, password, err = c.credentials(); err != nil {
			return "", err
		}
		if username == "" {
			err = conn.Auth(ctx, password).Err()
		} else {
			err = conn.AuthACL(ctx, username, password).Err()
		}
		if err == nil {
			pair, err = conn.Do(ctx, "sentinel", "get-master-addr-by-name", c.target.master).StringSlice()
		}
	}
	switch {
	case errors.Is(err, redis.Nil):
		return "", errors.New("a sentinel does not know the master's name: correct it in redis.url")
	case err != nil:
		return "", err
	case len(pair) != 2:
		return "", errors.New("a sentinel's answer is no address")
	}
	return net.JoinHostPort(pair[0], pair[1]), nil
}
