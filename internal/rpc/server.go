// Package rpc speaks MessagePack-RPC on a Unix socket: it reads bounded frames, finds
// the method in the table that it was given, and decodes params and encodes results.
//
// Its invariant: nothing is allocated for a length that a client merely
// declares, every request gets exactly one reply or a closed connection, and a
// connection that closes gives back what it held.
//
// It knows no noun, decides nothing, and never sees Redis.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Options set where and how to listen.
type Options struct {
	// Path of the socket; its folder is made with mode 0770 when it is missing.
	Path string
	// Mode (0660), UID and GID of the socket; -1 leaves an owner as it is.
	Mode     fs.FileMode
	UID, GID int
	// AllowedUIDs and AllowedGIDs, when not empty, are checked against the
	// peer's credentials, its supplementary groups included: a peer passes that is in
	// either.
	AllowedUIDs, AllowedGIDs []int
	// AdminOff refuses admin methods; AdminUIDs, when not empty, binds them.
	AdminOff  bool
	AdminUIDs []int
	// Limits are those of spec 02; zero values mean its defaults.
	Limits api.Limits
	// DefaultDeadline (api.DefaultDeadlineMS) is the time of calls that name none, in which
	// what they wait for is not counted.
	DefaultDeadline time.Duration
	// WriteTimeout (5 s) is how long a client may leave its replies unread.
	WriteTimeout time.Duration
	// Version is the sidecar's, for session.hello.
	Version   string
	Log       *slog.Logger
	Telemetry *telemetry.Telemetry
}

// Services are what the handlers call.
type Services struct {
	// Methods are those of the nouns.
	Methods []coord.Method
	Leases  *lease.Leases
	// Rules are those in force, sorted by name.
	Rules func() []api.InspectRule
	// StreamGroups and Channels are what connections take part in and are subscribed to,
	// sorted.
	StreamGroups func() []api.InspectStreamGroup
	Channels     func() []api.InspectChannel
	// Decisions are what rules decided since the start, sorted by rule, and Refusals the keys
	// that were refused most lately.
	Decisions func() []api.RuleStats
	Refusals  func() api.InspectRefusals
	// Times are how long calls took by method and scripts by name, both sorted, and SlowScripts
	// those that took long, the latest first.
	Times       func(context.Context) (calls, scripts []api.InspectTimes, err error)
	SlowScripts func() []api.InspectSlowScript
	// Events is what events.subscribe follows. It may be nil, and so may all that only
	// inspect.snapshot shows.
	Events *coord.Events
	// Config is the configuration in force as YAML, without secrets.
	Config func() (string, error)
	// Redis is the state of the store, without secrets.
	Redis func() api.InspectRedis
	// Draining hears, once, that the pod ends at that time. It may be nil.
	Draining func(until time.Time)
	// Health answers health.get.
	Health func(context.Context) api.HealthResult
}

// The bounds of spec 02 where Options give none.
const (
	defaultFrameBytes   = 1 << 20
	defaultDepth        = 16
	defaultElements     = 65_536
	defaultInflight     = 1024
	defaultWaiting      = 4096
	defaultConnections  = 256
	defaultTotalBytes   = 256 << 20
	defaultTotalWaiting = 65_536
	defaultWriteTimeout = 5 * time.Second
)

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	l := &o.Limits
	l.MaxFrameBytes = cmp.Or(l.MaxFrameBytes, defaultFrameBytes)
	l.MaxDepth = cmp.Or(l.MaxDepth, defaultDepth)
	l.MaxElements = cmp.Or(l.MaxElements, defaultElements)
	l.MaxInflight = cmp.Or(l.MaxInflight, defaultInflight)
	l.MaxWaiting = cmp.Or(l.MaxWaiting, defaultWaiting)
	l.MaxConnections = cmp.Or(l.MaxConnections, defaultConnections)
	l.MaxTotalBytes = cmp.Or(l.MaxTotalBytes, defaultTotalBytes)
	l.MaxTotalWaiting = cmp.Or(l.MaxTotalWaiting, defaultTotalWaiting)
	o.DefaultDeadline = cmp.Or(o.DefaultDeadline, api.DefaultDeadlineMS*time.Millisecond)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, defaultWriteTimeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Nop()
	}
	return o
}

// Server serves one socket.
type Server struct {
	opts     Options
	services Services
	methods  *methodTable
	listener *net.UnixListener
	file     os.FileInfo
	// tracing is false when the tracer makes no spans at all.
	tracing bool
	started time.Time
	faults  faults
	recent  recent
	ids     requestIDs
	workers workers
	direct  direct
	accepts sync.WaitGroup
	budget
	// drainAt is when the pod ends; nil until that is known.
	drainAt atomic.Pointer[time.Time]

	mu    sync.Mutex // guards what follows
	conns map[*conn]struct{}
	// empty is closed when the server is shutting down and no connection is left.
	empty    chan struct{}
	shutting bool
}

// Listen takes the socket's path, taking over the file of a dead sidecar and
// refusing that of a live one, and starts serving.
func Listen(o Options, s Services) (*Server, error) { return listen(o, s, newTable(s.Methods)) }

func listen(o Options, services Services, table *methodTable) (*Server, error) {
	s := &Server{
		opts: o.withDefaults(), services: services, methods: table,
		conns: make(map[*conn]struct{}), empty: make(chan struct{}), started: time.Now(), recent: newRecent(),
	}
	s.workers.free, s.workers.turns = maxRunning, coord.NewCrew(maxRunning)
	s.budget.open(s.opts.Limits)
	s.tracing = s.opts.Telemetry.Traces()
	l, file, err := takePath(&s.opts)
	if err != nil {
		return nil, err
	}
	s.listener, s.file = l, file
	s.accepts.Go(s.accept)
	s.direct.kick, s.direct.stop = make(chan struct{}, 1), make(chan struct{})
	s.direct.sweeping.Go(s.sweep)
	return s, nil
}

// accept takes connections until the listener is closed.
func (s *Server) accept() {
	for {
		nc, err := s.listener.AcceptUnix()
		switch {
		case err == nil:
			s.welcome(nc)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Out of file descriptors, most likely: accepting goes on once some
			// are free, and spinning until then would help nobody.
			s.opts.Log.Error("accept", "error", err)
			time.Sleep(acceptPause)
		}
	}
}

// acceptPause is how long accepting rests after it failed.
const acceptPause = 50 * time.Millisecond

// welcome starts serving a connection, or closes it.
func (s *Server) welcome(nc *net.UnixConn) {
	uid, gid, err := peer(nc)
	if err != nil {
		s.opts.Log.Warn("peer credentials", "error", err)
		_ = nc.Close()
		return
	}
	if !s.allowed(nc, uid, gid) {
		s.turnAway(nc, closedForbidden, "uid", uid, "gid", gid)
		return
	}
	c := &conn{
		server: s, nc: nc, uid: uid, log: s.opts.Log.With("uid", uid), calls: make(map[integer]*call),
		buf: make([]byte, smallBuffer), since: time.Now(),
		skimmer: skimmer{
			maxBytes: int(s.opts.Limits.MaxFrameBytes), maxElements: int(s.opts.Limits.MaxElements),
			open: make([]int, 0, s.opts.Limits.MaxDepth),
		},
	}
	c.calling.pool, c.buffered.pool = &s.calls, &s.buffers
	c.readBytes = smallBuffer // of what is free
	c.buffered.add(smallBuffer)
	c.subscriber = s.services.Events.Subscriber(c.tellEvent)
	if err := c.newWriter(); err != nil {
		s.opts.Log.Warn("connection", "error", err)
		_ = nc.Close()
		return
	}
	s.mu.Lock()
	full := int64(len(s.conns)) >= s.opts.Limits.MaxConnections
	if !full {
		c.session = s.services.Leases.Open(coord.Identity{}, c.lost) // before others can see it
		c.session.Outlet = c
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if full {
		s.turnAway(nc, closedTooMany, "limit", s.opts.Limits.MaxConnections)
		return
	}
	s.workers.serve(c)
}

// admin reports whether a peer may call admin methods.
func (s *Server) admin(uid int) bool {
	return !s.opts.AdminOff && (len(s.opts.AdminUIDs) == 0 || slices.Contains(s.opts.AdminUIDs, uid))
}

// turnAway closes a connection that is not served.
func (s *Server) turnAway(nc *net.UnixConn, reason string, args ...any) {
	s.opts.Log.Warn("connection refused", append([]any{"reason", reason}, args...)...)
	s.opts.Telemetry.ConnectionClosed(context.Background(), reason)
	_ = nc.Close()
}

// forget takes a closed connection off the list.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.shutting && len(s.conns) == 0 {
		close(s.empty)
	}
}

// connections are the open ones.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// Connections counts the open ones.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// ping is a whole session.ping.
var ping = append(appendText([]byte{0x94, 0, 0}, api.SessionPing.Name), 0x90)

// Alive reports whether the accept loop runs and the socket still answers: it
// opens a connection to it and pings. A connection that is turned away, for
// being one too many or of another user, is an answer too.
func (s *Server) Alive(ctx context.Context) error {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", s.opts.Path)
	if err != nil {
		return fmt.Errorf("socket %s: %w", s.opts.Path, err)
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err = nc.Write(ping); err == nil {
		_, err = nc.Read(make([]byte, 1))
	}
	turnedAway := errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	if err != nil && !turnedAway {
		return fmt.Errorf("socket %s: ping: %w", s.opts.Path, err)
	}
	return nil
}

// Shutdown stops accepting and refuses new acquisitions, tells clients as Drain
// does unless that was called, lets connections
// finish and close until ctx ends, then closes them. What they held is given
// back by coord, and the socket file is removed. It may be called again, with
// less time.
func (s *Server) Shutdown(ctx context.Context) error {
	s.services.Leases.Drain()
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now()
	}
	s.Drain(until)
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // by an earlier call
	}
	s.accepts.Wait()
	s.mu.Lock()
	if !s.shutting && len(s.conns) == 0 {
		close(s.empty)
	}
	s.shutting = true
	s.mu.Unlock()
	select {
	case <-s.empty:
	case <-ctx.Done():
		s.closeAll()
	}
	s.direct.end()
	s.workers.stop()
	if rerr := removePath(s.opts.Path, s.file); rerr != nil {
		err = errors.Join(err, rerr)
	}
	return err
}

func (s *Server) closeAll() {
	for _, c := range s.connections() {
		c.close(closedShutdown)
	}
}
