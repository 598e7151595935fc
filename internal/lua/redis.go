package lua

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
	// Sentinel is how the sentinels are logged in to; empty, those that ask for a
	// password are given the servers'.
	Sentinel Login
	// MinIdle and MaxConns bound the pool (10 and 50), of each master of a cluster.
	MinIdle, MaxConns int
	// DialTimeout (5 s) and CommandTimeout (3 s) bound one step each; the
	// call's own deadline bounds all of them.
	DialTimeout, CommandTimeout time.Duration
	Log                         *slog.Logger
	Telemetry                   *telemetry.Telemetry
	// ScratchKey makes a key of a hash tag, to which the probe asks to write and does
	// not; nil = outside of any prefix. It is one that the user may write.
	ScratchKey func(tag string) string
	// Clock, in tests and simulations, is what scripts read instead of TIME: Unix
	// microseconds. On the embedded store no key expires then.
	Clock func() int64
}

// Login is who logs in. The password is in a file or here.
type Login struct{ Username, Password, PasswordFile string }

// defaults fills in what was left out and refuses what cannot work.
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
		// It loses no reply, but a pipeline of scripts, which keeps a new connection
		// waiting too, may take it seconds on a busy machine.
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

// Runner executes scripts on one store.
type Runner struct {
	topology, address string
	log               *slog.Logger
	tel               *telemetry.Telemetry
	clock             func() int64
	// texts are what is loaded, shas how it is called, by script.
	texts []string
	shas  map[*Source]string
	// scratchKey is Options.ScratchKey, commands are what scripts run.
	scratchKey func(tag string) string
	commands   string

	connector *connector
	// only is the one node of a store that is no cluster, ring is a cluster.
	only *node
	ring *ring
	// sentinels say where only is, if the URL names them.
	sentinels *sentinels

	listen   *redis.Client // makes the connections of subscriptions
	listened *conns

	maxConns int

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once
}

// Open makes a runner and starts connecting in the background: Redis being away
// is a state, not an error. It fails only on options that can never work.
func Open(o Options) (*Runner, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	libraryLog.to.Store(o.Log)
	to, err := redisurl.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("redis url: it %w", err)
	}
	if !to.Secure && o.TLS != (TLSFiles{}) {
		return nil, errors.New("redis tls: files are set, but the url is one without TLS: start it with rediss")
	}
	if to.Topology != redisurl.Sentinel && o.Sentinel != (Login{}) {
		return nil, errors.New("redis sentinel: a login is set, but the url names no sentinels: start it with redis+sentinel, or remove redis.sentinel")
	}
	r := &Runner{
		topology: to.Topology, address: to.String(), log: o.Log, tel: o.Telemetry, clock: o.Clock,
		maxConns: o.MaxConns, connector: newConnector(&o, to), scratchKey: o.ScratchKey,
	}
	if to.Topology == Embedded {
		if r.connector.inside, err = startEmbedded(o.Clock != nil); err != nil {
			return nil, err
		}
		r.log.Warn("using the embedded store: its state is lost at exit and shared with no other sidecar; for development only")
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.prepareScripts()
	r.listener()
	if err := r.start(); err != nil {
		return nil, errors.Join(err, r.listen.Close())
	}
	return r, nil
}

// start begins to connect.
func (r *Runner) start() error {
	addrs := r.connector.target.Addrs
	switch r.topology {
	case redisurl.Cluster:
		r.ring = newRing(r)
		r.wg.Go(r.ring.follow)
		return nil
	case redisurl.Sentinel:
		s := newSentinels(r, addrs)
		n, err := r.newNode(r.address, s.master)
		if err != nil {
			return errors.Join(err, s.close())
		}
		n.resolve = func(ctx context.Context) error { return s.find(ctx, n) }
		r.only, r.sentinels = n, s
	default:
		n, err := r.newNode(r.address, func() (string, error) { return addrs[0], nil })
		if err != nil {
			return err
		}
		r.only = n
	}
	r.only.wg.Go(r.only.watch)
	return nil
}

// nodes are the servers in use.
func (r *Runner) nodes() []*node {
	if r.ring != nil {
		return r.ring.masters()
	}
	return []*node{r.only}
}

// Close ends the runner and its connections; calls that run then fail.
func (r *Runner) Close() error {
	var err error
	r.once.Do(func() {
		r.cancel()
		r.connector.dialer.close()
		r.listened.closeAll(true)
		if r.ring != nil {
			err = r.ring.close()
		} else {
			err = r.only.close(errClosed)
		}
		r.wg.Wait()
		if r.sentinels != nil {
			err = errors.Join(err, r.sentinels.close())
		}
		err = errors.Join(err, r.listen.Close())
		if r.connector.inside != nil {
			r.connector.inside.close()
		}
	})
	return err
}

// Ping asks Redis now, within ctx; of a cluster every master.
func (r *Runner) Ping(ctx context.Context) error {
	nodes := r.nodes()
	if len(nodes) == 0 {
		return fmt.Errorf("ping: %w: %w", ErrUnavailable, r.ring.trouble())
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
