package lua

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Embedded is the URL of the in-process development store.
const Embedded = "embedded"

// Options say where Redis is and how to use it.
type Options struct {
	// URL is redis://[user:password@]host:port[/db], or Embedded.
	URL string
	// MinIdle and MaxConns bound the pool (10 and 50).
	MinIdle, MaxConns int
	// DialTimeout (5 s) and CommandTimeout (3 s) bound one step each; the
	// call's own deadline bounds all of them.
	DialTimeout, CommandTimeout time.Duration
	Log                         *slog.Logger
	Telemetry                   *telemetry.Telemetry
	// Clock, in tests, is what scripts read instead of TIME: Unix microseconds.
	Clock func() int64
}

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
	orTime(&o.DialTimeout, 5*time.Second)
	if o.URL == Embedded {
		// It loses no reply, but a pipeline of scripts may take it seconds on a busy machine.
		orTime(&o.CommandTimeout, 30*time.Second)
	}
	orTime(&o.CommandTimeout, 3*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	switch {
	case o.MaxConns < 1 || o.MinIdle < 0 || o.MinIdle > o.MaxConns:
		return fmt.Errorf("redis pool: min_idle %d and max %d: use 0 <= min_idle <= max and max >= 1", o.MinIdle, o.MaxConns)
	case o.DialTimeout < 0 || o.CommandTimeout < 0:
		return fmt.Errorf("redis timeouts: dial %v and command %v: use more than 0", o.DialTimeout, o.CommandTimeout)
	}
	return nil
}

// target is what a URL says.
type target struct {
	addr               string
	username, password string
	db                 int
}

// parse reads a redis:// URL. Its errors never quote the URL, not even in part:
// a password with an unescaped character ends up in any of its fields.
func parse(text string) (target, error) {
	const want = "redis://[user:password@]host:port[/db], or embedded for an in-process development store"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return target{}, errors.New("redis url: it cannot be read (percent-encode special characters of the password): use " + want)
	case u.Scheme != "redis":
		return target{}, errors.New("redis url: unknown kind of address: use " + want)
	case u.RawQuery != "" || u.Fragment != "":
		return target{}, errors.New("redis url: no options after ? or # are taken (timeouts and pool have settings of their own): use " + want)
	case u.Hostname() == "":
		return target{}, errors.New("redis url: the host is missing: use " + want)
	}
	opt, err := redis.ParseURL(text)
	if err != nil || opt.DB < 0 {
		return target{}, errors.New("redis url: the database after / is not a number: use " + want)
	}
	return target{opt.Addr, opt.Username, opt.Password, opt.DB}, nil
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

	conns  *conns
	client *redis.Client        // the pool of all calls
	pipe   *redis.AutoPipeliner // over client
	probe  *redis.Client        // a connection of its own, so that a busy pool does not look like an outage
	listen *redis.Client        // makes the connections of subscriptions
	inside interface{ close() } // the embedded store, nil otherwise

	maxConns int

	running atomic.Int64 // calls between send and answer
	crowded atomic.Int64 // calls that still take the pipeline, see crowd

	loading chan struct{} // held while scripts are loaded
	loads   atomic.Uint64 // how often they were

	condition atomic.Pointer[condition]
	seen      atomic.Pointer[seen]
	suspect   chan struct{} // asks the probe to look now

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
	r := &Runner{
		topology: "standalone", log: o.Log, tel: o.Telemetry, clock: o.Clock,
		maxConns: o.MaxConns,
		loading:  make(chan struct{}, 1), suspect: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	var to target
	var dial dialFunc
	if o.URL == Embedded {
		inside, err := startEmbedded()
		if err != nil {
			return nil, err
		}
		r.topology, r.address, r.inside, dial = Embedded, "in this process", inside, inside.dial
		r.log.Warn("using the embedded store: its state is lost at exit and shared with no other sidecar; for development only")
	} else {
		var err error
		if to, err = parse(o.URL); err != nil {
			return nil, err
		}
		r.address = to.addr
		d := &net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second}
		dial = func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", to.addr) }
	}
	r.conns = &conns{dial: dial, open: map[*tracked]struct{}{}}
	if err := r.connect(o, to); err != nil {
		return nil, err
	}
	r.prepareScripts()
	r.condition.Store(&condition{changed: make(chan struct{})})
	r.seen.Store(&seen{})
	r.wg.Add(1)
	go r.watch()
	return r, nil
}

// connect makes the clients; nothing is awaited.
func (r *Runner) connect(o Options, to target) error {
	opt := redis.Options{
		Addr:     r.address,
		Protocol: 2,
		// Every connection is proven before a script is written to it, in our
		// own handshake, so that its failure is known to be one of the
		// connection: auth, database, a server that is loading or full.
		OnConnect: func(ctx context.Context, cn *redis.Conn) error { return handshake(ctx, cn, to) },

		MaxRetries: -1, DialerRetries: 1,
		DialTimeout: o.DialTimeout, ReadTimeout: o.CommandTimeout, WriteTimeout: o.CommandTimeout,
		PoolTimeout: o.CommandTimeout, ContextTimeoutEnabled: true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		PoolSize:                 o.MaxConns, MaxActiveConns: o.MaxConns, MinIdleConns: o.MinIdle,
		PipelinePoolSize: -1, // pipelines and lone calls share one bounded pool
	}
	calls := opt
	calls.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if c := r.condition.Load(); c != nil && c.down() {
			return deadConn{&unsent{"dial", c.err}}, nil
		}
		return r.dial(ctx), nil
	}
	probe := opt
	probe.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dial(ctx), nil }
	probe.PoolSize, probe.MaxActiveConns, probe.MinIdleConns = 2, 2, 0
	r.client, r.probe, r.listen = redis.NewClient(&calls), redis.NewClient(&probe), r.listener(opt)
	var err error
	if r.pipe, err = r.client.AsyncAutoPipelineWithOptions(pipelining()); err != nil {
		return errors.Join(fmt.Errorf("redis pipeline: %w", err), r.client.Close(), r.probe.Close(), r.listen.Close())
	}
	return nil
}

// dial connects until the runner is closed.
func (r *Runner) dial(ctx context.Context) net.Conn {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return r.conns.connect(ctx)
}

func handshake(ctx context.Context, cn *redis.Conn, to target) error {
	_, err := cn.Pipelined(ctx, func(p redis.Pipeliner) error {
		switch {
		case to.username != "":
			p.AuthACL(ctx, to.username, to.password)
		case to.password != "":
			p.Auth(ctx, to.password)
		}
		if to.db != 0 {
			p.Select(ctx, to.db)
		}
		p.Ping(ctx)
		return nil
	})
	var lost *unsent
	if err == nil || errors.As(err, &lost) {
		return err
	}
	return &unsent{"setup", err}
}

// Close ends the runner and its connections; calls that run then fail.
func (r *Runner) Close() error {
	var err error
	r.once.Do(func() {
		r.cancel()
		r.conns.closeAll(true)
		r.wg.Wait()
		r.become(false, errClosed)
		err = errors.Join(r.pipe.Close(), r.pipe.WaitClosed(), r.client.Close(), r.probe.Close(), r.listen.Close())
		if r.inside != nil {
			r.inside.close()
		}
	})
	return err
}

// Ping asks Redis now, within ctx.
func (r *Runner) Ping(ctx context.Context) error {
	if err := r.probe.Ping(ctx).Err(); err != nil {
		r.look()
		return fmt.Errorf("ping: %w: %w", ErrUnavailable, err)
	}
	return nil
}
