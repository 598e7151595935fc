// Package client calls the Coxswain sidecar over its Unix socket.
//
// Every call ends within its context, and takes effect at most once however often its
// connection breaks: the client repeats a call on the next connection only if the call is
// idempotent or has a request id, and every call that is not idempotent has one unless its
// caller turns it off (see WithRequestID).
//
// The sidecar, not the client, decides about limits and leases. The types of params and
// results, and the error codes, are in package api.
//
//	c, err := client.Dial(ctx, client.Options{})
//	if err != nil { ... }
//	defer c.Close()
//	allowed, err := c.Allow(ctx, "crawl", "example.com")
//
// A call is named after its method: pool.stats is PoolStats. Calls that acquire a lease take a
// name and options, and have a form that ends in Do, which holds the lease while a function runs.
// Other calls take the params of the method, or only the values if these are one or two strings,
// and return its result, or only the value if the result has one field.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSocket is the path at which the sidecar listens by default.
const DefaultSocket = "/run/coxswain/sidecar.sock"

// SocketEnv is the environment variable that names the socket.
const SocketEnv = "COXSWAIN_SOCKET"

// Options select the sidecar and describe the client to it. The zero Options are right
// for most programs.
type Options struct {
	// Socket is the path of the sidecar's socket; empty = $COXSWAIN_SOCKET, else
	// DefaultSocket.
	Socket string
	// Client, Version and Instance describe the caller. The holder of a lock is shown with
	// them. If empty, they are the name of the program, no version, and host/pid.
	Client, Version, Instance string
	// Connections is how many connections to keep; 0 = 1. Every connection is a session of
	// its own, and more than one helps only with very many callers.
	Connections int
	// FailFast makes Dial try only once. Without it, Dial waits for the sidecar within its
	// context, for programs that start together with the sidecar.
	FailFast bool
	// Timeout ends calls, Dial too, whose context has no deadline; a call has its wait_ms in
	// addition to Timeout. 0 = 5 s.
	Timeout time.Duration
	// Tracer makes the spans of calls and messages, and calls carry its trace context to the sidecar.
	// Nil = no spans and no trace context. clientotel.New(nil) makes one for OpenTelemetry.
	Tracer Tracer
	// Logger logs the connections that are made and lost; nil = no log.
	Logger *slog.Logger
	// OnEvent is called for every notification of the sidecar, in order and on its own
	// goroutine, so it may make calls. At most 256 events wait for it; later ones are
	// dropped and logged. Right after a call, an event may arrive up to 20 ms late, unless
	// the connection holds a lease. The Context of a lost lease ends without OnEvent too.
	OnEvent func(Event)
}

// Client calls one sidecar. It is safe for concurrent use, and many goroutines can share
// one connection at little cost.
type Client struct {
	o     Options
	epoch time.Time // what now counts from
	ids   requestIDs
	calls sync.Pool // of *call
	dial  func(context.Context) (net.Conn, error)

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	wg    sync.WaitGroup // one goroutine a slot, and the one for events
	event chan Event

	follows following
	alarms  alarms

	slots     []*slot
	turn      atomic.Uint32        // which slot is asked first
	gathering atomic.Pointer[conn] // the connection that is about to write for several callers

	mu      sync.Mutex    // guards what follows
	changed chan struct{} // closed and replaced when a slot comes up or fails
	lastErr error         // why the latest try to connect failed
}

// slot keeps one connection alive.
type slot struct {
	up atomic.Pointer[conn] // nil while there is none
}

// Dial connects to the sidecar. Unless Options.FailFast is set, it waits for the sidecar
// within ctx, or for 5 s if ctx has no deadline. It returns at once with an error that
// waiting cannot change, for example if this user may not open the socket. A connection
// that breaks later is made again in the background until Close.
func Dial(ctx context.Context, o Options) (*Client, error) {
	c := newClient(o)
	d := net.Dialer{}
	c.dial = func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "unix", c.o.Socket) }
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func newClient(o Options) *Client {
	if o.Socket == "" {
		o.Socket = strings.TrimRight(os.Getenv(SocketEnv), "\r\n") // as the sidecar reads it
	}
	if o.Socket == "" {
		o.Socket = DefaultSocket
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Client == "" {
		o.Client = filepath.Base(os.Args[0])
	}
	if o.Instance == "" {
		host, _ := os.Hostname() // without a host name the pid still distinguishes clients
		o.Instance = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		o:       o,
		epoch:   time.Now(),
		ids:     newRequestIDs(),
		calls:   sync.Pool{New: blankCall},
		changed: make(chan struct{}),
		follows: following{turn: make(chan struct{}, 1)},
		slots:   make([]*slot, max(o.Connections, 1)),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// now is the time since epoch, by which calls measure deadlines. It takes half as long as time.Now.
func (c *Client) now() time.Duration { return time.Since(c.epoch) }

// start waits for the first connection within ctx. All others are made in the background.
func (c *Client) start(ctx context.Context) error {
	if c.o.OnEvent != nil {
		c.event = make(chan Event, eventQueue)
		c.wg.Go(c.deliver)
	}
	for i := range c.slots {
		c.slots[i] = new(slot)
		c.wg.Go(func() { c.keep(c.slots[i]) })
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	_, err := c.await(ctx, nil, func(err error) bool { return c.o.FailFast || hopeless(err) }, c.live)
	if err != nil {
		_ = c.Close() // its error is dropped: why the sidecar could not be reached matters more
		return err
	}
	return nil
}

// Close closes the connections, so that the sidecar releases what they hold. It returns
// when all goroutines of the client have ended. Calls in flight end with ErrClosed.
func (c *Client) Close() error {
	c.stop()
	c.wg.Wait()
	return nil
}

// pick returns a live connection, and waits for one until ctx or the time of the call ends.
// It also returns the time at which it returns, by now.
func (c *Client) pick(ctx context.Context, now, deadline time.Duration) (*conn, time.Duration, error) {
	if cn := c.live(); cn != nil {
		return cn, now, nil
	}
	t := time.NewTimer(deadline - now)
	defer t.Stop()
	cn, err := c.await(ctx, t.C, nil, c.live)
	return cn, c.now(), err
}

// await returns a live connection, and waits for one until ctx or timer ends. giveUp, if not
// nil, decides whether a failed attempt to connect ends the wait. live returns a live
// connection or nil.
func (c *Client) await(
	ctx context.Context, timer <-chan time.Time, giveUp func(error) bool, live func() *conn,
) (*conn, error) {
	if cn := live(); cn != nil {
		return cn, nil
	}
	for {
		c.mu.Lock()
		changed, last := c.changed, c.lastErr
		c.mu.Unlock()
		// Checked again after reading the channel: a connection that was made in between has
		// closed the channel before this one.
		if cn := live(); cn != nil {
			return cn, nil
		}
		if last != nil && giveUp != nil && giveUp(last) {
			return nil, last
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, c.unreached(last, ctx.Err())
		case <-timer:
			return nil, c.unreached(last, context.DeadlineExceeded)
		}
	}
}

// unreached is the error of a wait for a connection that ended.
func (c *Client) unreached(last, ended error) error {
	if last == nil {
		last = &ConnectError{Socket: c.o.Socket, Err: errors.New("no answer yet")}
	}
	return fmt.Errorf("%w: %w", last, ended)
}

// live returns a connection that is up, or nil. It prefers one that is about to write anyway,
// and else returns the connections in turn.
func (c *Client) live() *conn {
	first := 0
	if len(c.slots) > 1 {
		if cn := c.gathering.Load(); cn != nil && cn.slot.up.Load() == cn {
			return cn
		}
		first = int(c.turn.Add(1) % uint32(len(c.slots)))
	}
	for i := range c.slots {
		if cn := c.slots[(first+i)%len(c.slots)].up.Load(); cn != nil {
			return cn
		}
	}
	return nil
}

// announce wakes the callers that wait for a connection; err is nil if there is one.
func (c *Client) announce(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = err
	close(c.changed)
	c.changed = make(chan struct{})
}
