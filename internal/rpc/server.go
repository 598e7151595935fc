// Package rpc speaks MessagePack-RPC on a Unix socket: it reads bounded frames, finds
// the method in the table that it was given, and decodes params and encodes results.
//
// Its invariant: nothing is allocated for a length that a client merely
// declares, every request gets exactly one reply or a closed connection, and a
// connection that closes gives back the leases of its session.
//
// It has no code for a particular noun, makes no decisions, and does not use Redis itself.
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
	// AllowedUIDs and AllowedGIDs are the users and groups that may connect; if both are
	// empty, all may. A peer is accepted if its user is in the first list, or any of its
	// groups, supplementary ones included, is in the second.
	AllowedUIDs, AllowedGIDs []int
	// AdminOff refuses admin methods to all. AdminUIDs, when not empty, are the only users
	// that may call them.
	AdminOff  bool
	AdminUIDs []int
	// Limits bound the connections and their calls; a limit of zero means its default below.
	Limits api.Limits
	// DefaultDeadline (api.DefaultDeadlineMS) is the time of a call that sets no deadline;
	// the time that the call may wait is added to it.
	DefaultDeadline time.Duration
	// WriteTimeout (5 s) is how long a client may leave replies unread before it is disconnected.
	WriteTimeout time.Duration
	// Version of the sidecar, which session.hello returns.
	Version   string
	Log       *slog.Logger
	Telemetry *telemetry.Telemetry
}

// Services are what the handlers call.
type Services struct {
	// Methods are the methods of the nouns.
	Methods []coord.Method
	Leases  *lease.Leases
	// Rules are the rules in force, sorted by name.
	Rules func() []api.InspectRule
	// StreamGroups are the groups in which connections consume, and Channels the channels
	// that they are subscribed to, both sorted.
	StreamGroups func() []api.InspectStreamGroup
	Channels     func() []api.InspectChannel
	// Decisions are the statistics of each rule since the start, sorted by rule, and Refusals
	// the keys that were refused most lately.
	Decisions func() []api.RuleStats
	Refusals  func() api.InspectRefusals
	// Times are the durations of calls by method and of scripts by name, both sorted, and
	// SlowScripts the slow runs of scripts, the latest first.
	Times       func(context.Context) (calls, scripts []api.InspectTimes, err error)
	SlowScripts func() []api.InspectSlowScript
	// Events is the hub whose events events.subscribe sends. It may be nil, and so may all
	// functions that only inspect.snapshot calls.
	Events *coord.Events
	// Config is the configuration in force as YAML, without secrets.
	Config func() (string, error)
	// Redis is the state of the store, without secrets.
	Redis func() api.InspectRedis
	// Draining is called once, with the time at which the pod is killed. It may be nil.
	Draining func(until time.Time)
	// Health answers health.get.
	Health func(context.Context) api.HealthResult
}

// The limits and the write timeout where Options set none.
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
	// drainAt is when the pod is killed; nil until Drain is called.
	drainAt atomic.Pointer[time.Time]

	mu    sync.Mutex // guards what follows
	conns map[*conn]struct{}
	// empty is closed when the server is shutting down and no connection is left.
	empty    chan struct{}
	shutting bool
}

// Listen makes the socket and starts serving. It replaces the socket file of a sidecar that
// has ended, and fails if a running sidecar listens on the path.
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
			// Most likely the process has no file descriptors left: pause rather
			// than spin until some are free.
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
	c.readBytes = smallBuffer // within freeBytes, so it takes nothing from the pool
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
		c.session = s.services.Leases.Open(coord.Identity{}, c.lost) // before c is in conns, where others find it
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

// forget removes a closed connection from conns.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.shutting && len(s.conns) == 0 {
		close(s.empty)
	}
}

// connections returns the open connections.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// Connections returns how many connections are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// ping is the frame of a session.ping request.
var ping = append(appendText([]byte{0x94, 0, 0}, api.SessionPing.Name), 0x90)

// Alive reports whether the accept loop runs and the socket still answers: it
// opens a connection to it and pings. A connection that the server closes, since
// there are too many or this user may not connect, counts as an answer too.
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

// Shutdown stops accepting connections, makes new acquisitions fail, and notifies clients as
// Drain does, unless Drain was called before. It waits until all connections are closed or ctx
// ends, and then closes the others; each connection gives back its leases when it ends.
// Shutdown removes the socket file. It may be called again, with less time.
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
