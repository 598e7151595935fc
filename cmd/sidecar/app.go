package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/breaker"
	"github.com/coxswain-sidecar/coxswain/internal/coord/fleet"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lock"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pool"
	"github.com/coxswain-sidecar/coxswain/internal/coord/pubsub"
	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/seen"
	"github.com/coxswain-sidecar/coxswain/internal/coord/semaphore"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/health"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/port"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

const (
	// cleanupTime bounds the steps of stopping that send something.
	cleanupTime = 2 * time.Second
	// overtime is how long a step may exceed its time before the next step begins.
	overtime = 250 * time.Millisecond
	// answerTime is how long Stop waits for an answer from Redis. After that, leases that are
	// still held end at their TTL.
	answerTime = 500 * time.Millisecond
)

// app is one sidecar. Start and Stop may be called in any order, from any goroutine. After Stop it
// cannot be started again.
type app struct {
	config *config.Config // the configuration at the start; reloads has the one in force
	origin origin
	log    *slog.Logger
	events *coord.Events
	// started is when newApp made it, pod the name of its pod.
	started time.Time
	pod     string
	// logDropped sets a function that the log calls with the number of lines that it drops; nil
	// if the log drops none.
	logDropped func(count func(lines int64))

	telemetry *telemetry.SDK
	runner    *lua.Runner
	leases    *lease.Leases
	signals   *coord.Signals
	rules     *ratelimit.Rules
	limiter   *ratelimit.Limiter
	policies  *breaker.Policies
	lines     *lease.Lines
	streams   *stream.Streams
	server    *rpc.Server
	health    atomic.Pointer[health.Health] // nil until the socket is open
	port      net.Listener                  // nil without http.addr, as is http
	http      *port.Server
	reloads   atomic.Pointer[reloads] // nil before and after serving

	statusPort net.Listener   // nil without http.status_addr
	methods    []coord.Method // those of the nouns

	mu       sync.Mutex // serializes Start and Stop
	stopped  bool
	cleanups []cleanup
}

// cleanup undoes one step of Start.
type cleanup struct {
	name   string
	within time.Duration
	undo   func(context.Context) error
}

// newApp makes a sidecar with a configuration; from is where it was read from.
func newApp(c *config.Config, from origin, log *slog.Logger) *app {
	if from.level == nil {
		from.level = new(slog.LevelVar) // the level of this log cannot be changed
	}
	return &app{config: c, origin: from, log: log, events: coord.NewEvents(), started: time.Now()}
}

// Start starts the layers, from the store to the socket. It succeeds while Redis does not answer.
// If a step fails, the steps before it are undone.
func (a *app) Start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped || a.cleanups != nil {
		return errors.New("start: the sidecar was started or stopped before")
	}
	for _, step := range []func() error{
		a.startTelemetry, a.listenHTTP, a.listenStatus, a.openStore, a.readRules, a.serve, a.watchHealth, a.watchConfig, a.serveHTTP, a.serveStatus,
		a.addGauges,
	} {
		if err := step(); err != nil {
			a.undo()
			return err
		}
	}
	if a.config.Redis.URL != redis.Embedded {
		a.log.Info("while redis does not answer, limits and breakers allow calls with degraded set, unless their fail_mode differs; "+
			"all other calls fail with UNAVAILABLE",
			"redis", a.runner.Status().Address)
	}
	a.log.Info("serving", "version", version, "socket", a.config.Socket.Path, "http", a.httpAddr(),
		"store", a.runner.Status().Topology, "redis", a.runner.Status().Address, "rules", len(a.rules.Names()), "exporting", strings.Join(a.telemetry.Exporting, ","),
		"max_total_bytes", a.server.Limits().MaxTotalBytes, "max_total_waiting", a.server.Limits().MaxTotalWaiting)
	return nil
}

// Stop refuses new connections and acquisitions, waits for clients to disconnect within
// limits.shutdown_grace, gives back the leases that they still hold, and stops the layers.
func (a *app) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	a.stopped = true
	if a.cleanups != nil {
		a.undo()
		a.log.Info("stopped")
	}
}

// undo runs the clean-ups, the latest first. It needs a.mu. It does not wait longer for a step that
// exceeds its time, since Redis accepts connections and does not answer: the steps after it close
// the connections on which it waits.
func (a *app) undo() {
	late := make(map[string]<-chan struct{})
	for i := len(a.cleanups) - 1; i >= 0; i-- {
		if ended := a.cleanUp(a.cleanups[i]); ended != nil {
			late[a.cleanups[i].name] = ended
		}
	}
	a.cleanups = nil
	ctx, cancel := context.WithTimeout(context.Background(), overtime)
	defer cancel()
	for name, ended := range late {
		select {
		case <-ended:
		case <-ctx.Done():
			a.log.Warn("stop: " + name + ": this step has not ended; stopping goes on without it")
		}
	}
}

// cleanUp runs a step. It returns nil if the step has ended in time, else a channel that is closed
// when the step ends. The step has a context of its own, since the caller's may have ended.
func (a *app) cleanUp(c cleanup) (late <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), c.within)
		defer cancel()
		if err := c.undo(ctx); err != nil {
			a.log.Warn("stop: "+c.name, "err", err)
		}
	}()
	timer := time.NewTimer(c.within + overtime)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return ended
	}
}

func (a *app) onStop(name string, within time.Duration, undo func(context.Context) error) {
	a.cleanups = append(a.cleanups, cleanup{name, within, undo})
}

func (a *app) startTelemetry() (err error) {
	a.telemetry, err = telemetry.Setup(context.Background(), telemetry.SetupOptions{
		Version: version, RecordKeys: a.config.Telemetry.RecordKeys, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.onStop("telemetry", cleanupTime, a.telemetry.Shutdown)
	a.telemetry.LogDropped(context.Background(), 0) // makes the counter begin at 0, so that the first dropped line is an increase
	if a.logDropped != nil {
		a.logDropped(func(lines int64) { a.telemetry.LogDropped(context.Background(), lines) })
	}
	return nil
}

func (a *app) openStore() (err error) {
	o := storeOptions(a.config)
	o.Log, o.Telemetry = a.log, a.telemetry.Telemetry
	if a.runner, err = lua.Open(o); err != nil {
		return err
	}
	a.onStop("redis", cleanupTime, func(context.Context) error { return a.runner.Close() })
	return nil
}

// storeOptions returns the options of the store for a configuration.
func storeOptions(c *config.Config) lua.Options {
	r := c.Redis
	return lua.Options{
		URL: r.URL, MinIdle: r.Pool.MinIdle, MaxConns: r.Pool.Max,
		Username: r.Username, PasswordFile: r.PasswordFile,
		Sentinel:    redis.Login{Username: r.Sentinel.Username, Password: r.Sentinel.Password, PasswordFile: r.Sentinel.PasswordFile},
		TLS:         redis.TLSFiles{CA: r.TLS.CAFile, Cert: r.TLS.CertFile, Key: r.TLS.KeyFile, ServerName: r.TLS.ServerName},
		DialTimeout: r.Pool.DialTimeout, CommandTimeout: r.Pool.CommandTimeout,
		ScratchKey: coord.NewKeys(r.Prefix, r.Tenant).Scratch,
	}
}

// readRules puts the configured rules and breaker policies in force.
func (a *app) readRules() error {
	c := a.config
	a.rules = ratelimit.NewRules()
	if err := a.rules.SetFirst(c.Rules.Items, age(c), ratelimit.Precedence(c.Rules.Precedence)); err != nil {
		return err
	}
	a.policies = breaker.NewPolicies()
	return a.policies.Set(c.Breakers.Items)
}

// serve makes the nouns and opens the socket.
func (a *app) serve() error {
	c := a.config
	mode, err := config.ParseMode(c.Socket.Mode)
	if err != nil {
		return fmt.Errorf("socket.mode: %w", err)
	}
	keys := coord.NewKeys(c.Redis.Prefix, c.Redis.Tenant)
	a.leases = lease.NewLeases(a.telemetry.Telemetry)
	a.leases.Report(a.events)
	a.onStop("leases", cleanupTime, a.giveBack)
	a.signals = coord.NewSignals(a.runner, keys)
	a.onStop("signals", 0, func(context.Context) error { a.signals.Stop(); return nil })
	runtime := ratelimit.NewRuntimeRules(ratelimit.RuntimeRulesOptions{
		Runner: a.runner, Keys: keys, Rules: a.rules, Signals: a.signals, Events: a.events, Log: a.log,
	})
	a.onStop("rules", 0, func(context.Context) error { runtime.Stop(); return nil })
	a.lines = lease.NewLines(a.runner, a.signals, a.leases)
	a.onStop("lines", 0, func(context.Context) error { a.lines.Stop(); return nil })
	a.server, err = rpc.Listen(rpc.Options{
		Path: c.Socket.Path, Mode: mode, UID: c.Socket.UID, GID: c.Socket.GID,
		AllowedUIDs: c.Socket.AllowedUIDs, AllowedGIDs: c.Socket.AllowedGIDs,
		AdminOff: !c.Socket.Admin.Enabled, AdminUIDs: c.Socket.Admin.UIDs,
		Limits: wireLimits(c.Limits, debug.SetMemoryLimit(-1)), WriteTimeout: c.Socket.WriteTimeout,
		Version: version, Log: a.log, Telemetry: a.telemetry.Telemetry,
	}, a.nouns(keys, runtime))
	if err != nil {
		return err
	}
	a.onStop("socket", c.Limits.ShutdownGrace, a.server.Shutdown)
	return nil
}

// nouns makes the nouns, and returns what the socket serves.
func (a *app) nouns(keys coord.Keys, runtime *ratelimit.RuntimeRules) rpc.Services {
	a.pod = a.podName()
	answers := coord.NewAnswers(a.signals)
	pools := pool.New(a.runner, keys, a.leases, a.lines)
	breakers := breaker.New(breaker.Options{
		Runner: a.runner, Keys: keys, Policies: a.policies, Members: pools, Leases: a.leases, Answers: answers, Events: a.events,
		Telemetry: a.telemetry.Telemetry,
	})
	permits := pool.NewPermits(pool.PermitsOptions{
		Runner: a.runner, Keys: keys, Rules: a.rules, Breakers: breakers, Leases: a.leases, Lines: a.lines,
	})
	a.limiter = ratelimit.New(ratelimit.Options{
		Runner: a.runner, Keys: keys, Rules: a.rules, Leases: a.leases, Lines: a.lines, Members: permits,
		Signals: a.signals, Answers: answers, Events: a.events,
		Telemetry: a.telemetry.Telemetry,
	})
	a.onStop("tokens charged ahead", answerTime, a.limiter.Stop)
	a.streams = stream.New(stream.Options{
		Runner: a.runner, Keys: keys, Leases: a.leases, Signals: a.signals,
		Telemetry: a.telemetry.Telemetry, Log: a.log, Consumer: a.pod, Limits: a.limiter,
	})
	a.onStop("streams", answerTime, a.streams.Stop)
	channels := pubsub.New(pubsub.Options{Runner: a.runner, Keys: keys, Telemetry: a.telemetry.Telemetry})
	a.onStop("pubsub", 0, func(context.Context) error { channels.Stop(); return nil })
	sidecars := fleet.New(fleet.Options{Runner: a.runner, Keys: keys, Sidecar: a.signals.Sidecar, About: a.about})
	sidecars.Start()
	a.onStop("fleet", answerTime, sidecars.Stop)
	a.methods = slices.Concat(
		lock.New(a.runner, keys, a.leases, a.lines).Methods(),
		semaphore.New(a.runner, keys, a.leases, a.lines).Methods(),
		queue.New(a.runner, keys, a.leases, a.lines).Methods(),
		seen.New(a.runner, keys, a.leases).Methods(),
		a.limiter.Methods(), a.rules.Methods(), runtime.Methods(),
		breakers.Methods(),
		pools.Methods(),
		permits.Methods(),
		a.streams.Methods(),
		channels.Methods(),
		sidecars.Methods(),
	)
	return rpc.Services{
		Leases: a.leases, Methods: a.methods,
		Rules: a.rules.InForce, StreamGroups: a.streams.Inspect, Channels: channels.Inspect,
		Decisions: a.limiter.Decisions, Refusals: a.limiter.Refusals, Times: a.times, SlowScripts: a.slowScripts,
		Events: a.events, Config: a.configText, Redis: a.redisState, Draining: a.draining, Health: a.snapshot,
	}
}

// podName returns this pod's name in groups of consumers: streams.consumer, or the host's name. In
// Kubernetes that is the pod's name, unless the pod uses its node's network. Empty = not known.
func (a *app) podName() string {
	if a.config.Streams.Consumer != "" {
		return a.config.Streams.Consumer
	}
	name, err := os.Hostname()
	if err != nil {
		a.log.Warn("the host's name cannot be read, so that this sidecar is a new consumer in groups of streams after each restart; set streams.consumer", "err", err)
	}
	return name
}

func (a *app) watchHealth() error {
	h, err := health.Start(health.Options{
		Live: a.liveChecks(), Ready: a.readyChecks(), Store: a.runner.Status().Topology,
		Log: a.log, Telemetry: a.telemetry.Telemetry,
	})
	if err != nil {
		return err
	}
	h.SetAlways(a.config.Readiness.Mode == config.ReadinessAlways)
	a.health.Store(h)
	a.onStop("health", 0, func(context.Context) error { h.Stop(); return nil })
	return nil
}

// giveBack gives back the leases that clients still hold, unless Redis does not answer within answerTime.
func (a *app) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan struct{})
	go func() {
		again := time.NewTicker(answerTime / 20)
		defer again.Stop()
		for a.runner.Ping(ctx) != nil {
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
		close(answered)
	}()
	silent := time.AfterFunc(answerTime, func() {
		select {
		case <-answered:
		default:
			cancel()
		}
	})
	defer silent.Stop()
	a.leases.Stop(ctx)
	return nil
}

func (a *app) listenHTTP() (err error) {
	if a.config.HTTP.Addr == "" {
		return nil
	}
	if a.port, err = health.Port.Listen(a.config.HTTP.Addr); err != nil {
		return err
	}
	a.onStop("http port", 0, func(context.Context) error { _ = a.port.Close(); return nil }) // the server may have closed it already
	return nil
}

func (a *app) serveHTTP() error {
	if a.port != nil {
		a.http = port.Serve("health", a.port, health.Handler(a.health.Load(), a.telemetry.Metrics), a.log)
		a.onStop("http", overtime, a.http.Stop)
	}
	return nil
}

// httpAddr returns the address of the health pages; empty = there are none.
func (a *app) httpAddr() string {
	if a.http == nil {
		return ""
	}
	return a.http.Addr()
}
