// Package redis is the transport: it connects to Redis, whatever its topology, and
// sends commands, each once. It makes and closes connections, finds the node of a key
// (one server, Sentinel or Cluster), loads the scripts on every node, probes the nodes
// in the background, listens on channels, and decides whether the script of a failed try
// can have run. It also has an embedded store for development. No other package uses
// go-redis, whose own retries are off.
//
// Its invariant: a try gets the verdict NotRun only if that is certain, because nothing
// of it was sent or Redis refused it before it changed anything. Every other try without
// a reply may have run. No call dials, and no call waits for a node that is known to be
// down unless it asks to.
//
// The package does not decide whether a try is repeated. It contains one script, its
// probe; callers pass the others as texts to load.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Embedded is the URL of the in-process development store.
const Embedded = redisurl.Embedded

// Options say where Redis is and how to use it.
type Options struct {
	// URL is redis://[user:password@]host:port[/db], unix://, redis+sentinel:// or
	// redis+cluster://, the rediss variants of them for TLS, or Embedded.
	URL string
	// Username, if set, is used instead of the URL's.
	Username string
	// PasswordFile, if set, holds the password to use instead of the URL's; it is
	// read for each new connection. A line break at its end is not part of it.
	PasswordFile string
	TLS          TLSFiles
	// Sentinel is the login for the sentinels. If it is empty, sentinels that require a
	// password are sent that of the servers.
	Sentinel Login
	// MinIdle and MaxConns bound the pool (10 and 50), of each master of a cluster.
	MinIdle, MaxConns int
	// DialTimeout (5 s) and CommandTimeout (3 s) bound one step each. The call's own
	// deadline bounds all steps together.
	DialTimeout, CommandTimeout time.Duration
	Log                         *slog.Logger
	Telemetry                   *telemetry.Telemetry
	// ScratchKey makes a key with a hash tag, which the user may write. The probe runs a
	// SET with XX on it, which writes nothing. Nil = a key without any prefix.
	ScratchKey func(tag string) string
	// Clock, in tests and simulations, is the time that scripts use instead of TIME: Unix
	// microseconds. The store does not read it; but with a clock no key of an embedded
	// store expires, since that store expires keys by the real time.
	Clock func() int64
}

// Login is a user and a password, which is set here or read from a file.
type Login struct{ Username, Password, PasswordFile string }

// defaults sets what was left out and returns an error for what cannot work.
func (o *Options) defaults() error {
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	orInt(&o.MaxConns, 50)
	orInt(&o.MinIdle, min(10, o.MaxConns))
	if o.URL == Embedded {
		// The embedded store loses no reply, but on a busy machine a pipeline of scripts may take
		// seconds, and a new connection waits for it too.
		orTime(&o.DialTimeout, 30*time.Second)
		orTime(&o.CommandTimeout, 30*time.Second)
	}
	orTime(&o.DialTimeout, 5*time.Second)
	orTime(&o.CommandTimeout, 3*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.ScratchKey == nil {
		o.ScratchKey = func(tag string) string { return "{" + tag + "}:probe" }
	}
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	switch {
	case o.MaxConns < 1 || o.MinIdle < 0 || o.MinIdle > o.MaxConns:
		return fmt.Errorf("redis pool: min_idle %d and max %d: use 0 <= min_idle <= max and max >= 1", o.MinIdle, o.MaxConns)
	case (o.TLS.Cert == "") != (o.TLS.Key == ""):
		return errors.New("redis tls: a certificate needs its key and a key its certificate: set both redis.tls.cert_file and redis.tls.key_file, or neither")
	case o.DialTimeout < 0 || o.CommandTimeout < 0:
		return fmt.Errorf("redis timeouts: dial %v and command %v: use more than 0", o.DialTimeout, o.CommandTimeout)
	}
	return nil
}

// Scripts are the scripts that the store loads on every server.
type Scripts struct {
	// Texts are the scripts, SHAs their names for EVALSHA.
	Texts, SHAs []string
	// Commands are the commands that the texts run, in capitals. The probe checks whether
	// the user may run them.
	Commands []string
}

// Store is one Redis, whatever its topology.
type Store struct {
	topology, address string
	log               *slog.Logger
	tel               *telemetry.Telemetry
	scripts           Scripts
	// scratchKey is Options.ScratchKey.
	scratchKey func(tag string) string

	connector *connector
	// only is the one node of a store that is not a cluster; ring is a cluster.
	only *node
	ring *ring
	// sentinels find the address of only, if the URL names sentinels.
	sentinels *sentinels

	listen   *redis.Client // makes the connections of subscriptions
	listened *conns

	maxConns int
	history  history

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

// Open makes a store and starts to connect in the background: an unreachable Redis
// is a state, not an error. It fails only on options that can never work.
func Open(o Options, scripts Scripts) (*Store, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	libraryLog.to.Store(o.Log)
	to, err := redisurl.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redis url: it %w", err)
	}
	if !to.Secure && o.TLS != (TLSFiles{}) {
		return nil, errors.New("redis tls: files are set, but the scheme of the url has no TLS: start it with rediss")
	}
	if to.Topology != redisurl.Sentinel && o.Sentinel != (Login{}) {
		return nil, errors.New("redis sentinel: a login is set, but the url names no sentinels: start it with redis+sentinel, or remove redis.sentinel")
	}
	s := &Store{
		topology: to.Topology, address: to.String(), log: o.Log, tel: o.Telemetry, scripts: scripts.withProbe(),
		history:  newHistory(),
		maxConns: o.MaxConns, connector: newConnector(&o, to), scratchKey: o.ScratchKey,
	}
	if to.Topology == Embedded {
		if s.connector.inside, err = startEmbedded(o.Clock != nil); err != nil {
			return nil, err
		}
		s.log.Warn("using the embedded store: its state is lost at exit and shared with no other sidecar; for development only")
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.listener()
	s.start()
	return s, nil
}

// start starts the goroutines that connect.
func (s *Store) start() {
	addrs := s.connector.target.Addrs
	switch s.topology {
	case redisurl.Cluster:
		s.ring = newRing(s)
		s.wg.Go(s.ring.follow)
		return
	case redisurl.Sentinel:
		asked := newSentinels(s, addrs)
		n := s.newNode(s.address, asked.master)
		n.resolve = func(ctx context.Context) error { return asked.find(ctx, n) }
		s.only, s.sentinels = n, asked
	default:
		s.only = s.newNode(s.address, func() (string, error) { return addrs[0], nil })
	}
	s.only.wg.Go(s.only.watch)
}

// nodes are the servers in use.
func (s *Store) nodes() []*node {
	if s.ring != nil {
		return s.ring.masters()
	}
	return []*node{s.only}
}

// Close ends the store and its connections. Calls that still run fail.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.cancel()
		s.connector.dialer.close()
		s.listened.closeAll(newTrouble("closed", errClosed), true)
		if s.ring != nil {
			err = s.ring.close()
		} else {
			err = s.only.close(errClosed)
		}
		s.wg.Wait()
		if s.sentinels != nil {
			err = errors.Join(err, s.sentinels.close())
		}
		err = errors.Join(err, s.listen.Close())
		if s.connector.inside != nil {
			s.connector.inside.close()
		}
	})
	return err
}

// Ping pings Redis now, within ctx; in a cluster every master.
func (s *Store) Ping(ctx context.Context) error {
	nodes := s.nodes()
	if len(nodes) == 0 {
		return fmt.Errorf("ping: %w: %w", ErrUnavailable, s.ring.trouble())
	}
	for _, n := range nodes {
		if _, err := n.reach(); err != nil {
			return fmt.Errorf("ping: %w: %w", ErrUnavailable, err)
		}
		if err := n.probe.Ping(ctx).Err(); err != nil {
			n.look()
			return fmt.Errorf("ping: %w: %w", ErrUnavailable, troubleOf(err))
		}
	}
	return nil
}
