package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// sentinels finds the address of the master by asking the sentinels of the URL. Only the
// probe asks them; calls dial the address that was found last.
type sentinels struct {
	of  *Store
	all []*adviser // in the order in which they are asked
	now atomic.Pointer[place]
}

// place is the last known address of the master, or the reason why none was found yet.
type place struct {
	addr string
	err  error
}

func newSentinels(of *Store, addrs []string) *sentinels {
	s := &sentinels{of: of}
	s.now.Store(&place{err: newTrouble(whyNoMaster, errors.New("the sentinels have not been asked yet"))})
	for _, addr := range addrs {
		s.all = append(s.all, of.connector.adviser(addr, of.connector.greetSentinel))
	}
	return s
}

// close ends the connections to the sentinels. No method may be called after it.
func (s *sentinels) close() (err error) {
	for _, a := range s.all {
		err = errors.Join(err, a.close())
	}
	return err
}

// master returns the last known address of the master, or why there is none yet.
func (s *sentinels) master() (string, error) {
	now := s.now.Load()
	return now.addr, now.err
}

// find asks for the master. If the master is another server than before, all
// connections to the old one are closed: it may still accept writes, which will be
// lost. While no sentinel replies, the last master is kept: an outage of the sentinels
// is not an outage of Redis.
func (s *sentinels) find(ctx context.Context, n *node) error {
	var failed []error
	var why *Trouble // of the last server that was named, else of the first sentinel
	tried := map[string]bool{}
	for i, a := range s.all {
		at, err := s.ask(ctx, a)
		switch {
		case err != nil:
			failed = append(failed, err)
			if why == nil {
				why = troubleOf(err)
			}
			continue
		case tried[at]:
			continue
		}
		tried[at] = true
		s.set(n, at)
		if err := isMaster(ctx, n); err != nil {
			// A sentinel that was cut off may not have noticed a failover.
			failed = append(failed, err)
			why = troubleOf(err)
			continue
		}
		// The sentinel that named the master is asked first the next time. Only the probe
		// uses this list.
		s.all[0], s.all[i] = s.all[i], s.all[0]
		return nil
	}
	_, unknown := s.master()
	if len(tried) == 0 && unknown == nil {
		return isMaster(ctx, n)
	}
	all := *why
	all.Err = fmt.Errorf("no sentinel names a master that replies: %w", errors.Join(failed...))
	if unknown != nil {
		s.now.Store(&place{err: &all})
	}
	return &all
}

func (s *sentinels) set(n *node, at string) {
	if before := s.now.Swap(&place{addr: at}); before.err == nil && before.addr != at {
		s.of.log.Warn("the sentinels name another master", "address", s.of.address)
		why := newTrouble("lost", errAnotherMaster)
		n.conns.closeAll(why, false)
		s.of.listened.closeAll(why, false)
	}
}

// isMaster returns an error if the server is not a master, or not yet.
func isMaster(ctx context.Context, n *node) error {
	role, err := n.probe.Do(ctx, "role").Slice()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"): // a replica then refuses writes with READONLY
		return nil
	case err != nil:
		return err
	case len(role) == 0 || role[0] != "master":
		return newTrouble(whyNoMaster, errors.New("the server that the sentinels name is not a master yet"))
	}
	return nil
}

// greetSentinel logs in to a sentinel with the login that is set for sentinels.
func (c *connector) greetSentinel(ctx context.Context, cn *redis.Conn) error {
	username, password, err := c.sentinelCredentials()
	if err != nil {
		return &unsent{"setup", err} // without it go-redis would strip the layer that names the configuration key
	}
	return authenticate(ctx, cn, username, password)
}

// sentinelCredentials reads user and password for each connection, as credentials does.
func (c *connector) sentinelCredentials() (username, password string, err error) {
	own := c.opt.Sentinel
	if own.PasswordFile != "" {
		own.Password, err = readPassword("redis.sentinel.password_file", own.PasswordFile)
	}
	return own.Username, own.Password, err
}

// ask asks one sentinel for the address of the master. If the sentinel requires a password
// and none is set for sentinels, ask logs in with that of the servers.
func (s *sentinels) ask(ctx context.Context, a *adviser) (string, error) {
	c := s.of.connector
	ctx, cancel := context.WithTimeout(ctx, c.opt.DialTimeout+c.opt.CommandTimeout)
	defer cancel()
	conn := a.client.Conn() // the second try needs the connection that has logged in
	defer func() { _ = conn.Close() }()
	pair, err := conn.Do(ctx, "sentinel", "get-master-addr-by-name", c.target.Master).StringSlice()
	if redis.HasErrorPrefix(err, "NOAUTH") && c.opt.Sentinel == (Login{}) {
		var username, password string
		if username, password, err = c.credentials(); err != nil {
			return "", err
		}
		if err = authenticate(ctx, conn, username, password); err == nil {
			pair, err = conn.Do(ctx, "sentinel", "get-master-addr-by-name", c.target.Master).StringSlice()
		}
	}
	at := &atSentinel{a.client.Options().Addr, err}
	switch {
	case errors.Is(err, redis.Nil):
		at.err = newTrouble(whyNoMaster, errors.New("it does not know the master's name: correct it in redis.url"))
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
		at.err = fmt.Errorf("%w (redis.sentinel has the login for it)", err)
	case err == nil && len(pair) != 2:
		at.err = newTrouble(whyNoMaster, errors.New("its reply is not an address"))
	case err == nil:
		return net.JoinHostPort(pair[0], pair[1]), nil
	}
	return "", at
}

// atSentinel is a failure at a sentinel and not at a server.
type atSentinel struct {
	addr string
	err  error
}

func (a *atSentinel) Error() string { return "the sentinel " + a.addr + ": " + a.err.Error() }
func (a *atSentinel) Unwrap() error { return a.err }
