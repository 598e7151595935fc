// Package clienttest provides a fake sidecar for the tests of programs that use package client. It
// listens on a Unix socket, speaks the protocol, and keeps its state in memory: no sidecar, no
// Redis, and a clock that a test can move.
//
//	s := clienttest.NewSidecar()
//	defer s.Close()
//	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(2, time.Minute)}})
//	c := s.Client() // or client.Dial with s.Socket()
//
// Limits count, locks exclude and have waiting lines, breakers open, queues and streams deliver
// again what was not acknowledged. A test can change what happens: On answers a method in place of
// the model, SetError makes all calls fail, Lose ends a lease, Stop and Start restart the sidecar.
//
// Its invariant: a real sidecar gives the same answers to the same calls. The tests of the sidecar
// compare both. The fake is simpler where programs cannot depend on the details: there is one pod;
// rules in mode leased are exact; pauses and open breakers have no jitter; breakers use their
// thresholds and have no window; and fail modes have no effect, since there is no Redis to fail.
// Methods that explain, inspect and count have no model: they answer METHOD_NOT_FOUND unless On
// answers them.
package clienttest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Sidecar is a fake sidecar. It is safe for concurrent use.
type Sidecar struct {
	dir string

	dialing sync.Mutex     // guards own
	own     *client.Client // the client that Client returns

	turns sync.Mutex // makes Start and Stop take turns: there is one socket

	mu      sync.Mutex         // guards the fields below, and the whole model
	stop    context.CancelFunc // ends what the listener has started; nil = it is stopped
	wg      *sync.WaitGroup    // the goroutines of the listener and its connections
	conns   map[*conn]bool
	session int
	methods map[string]method
	answers map[string]method // set by On
	failure *api.Error        // set by SetError
	calls   []Call
	replies map[string]*reply

	clock   clock
	changed chan struct{} // closed and replaced when waiting calls have to try again

	model
}

// Call is a call that a client made.
type Call struct {
	// Method is its name.
	Method string
	// Params are its parameters, without metadata: integers are int64, and byte strings are
	// []byte.
	Params map[string]any
}

// NewSidecar starts a fake sidecar. It panics if it cannot listen on a socket of its own in the
// folder for temporary files.
func NewSidecar() *Sidecar {
	dir, err := os.MkdirTemp("", "coxswain")
	if err != nil {
		panic("clienttest: " + err.Error())
	}
	s := &Sidecar{
		dir: dir, conns: make(map[*conn]bool), answers: make(map[string]method), replies: make(map[string]*reply),
		changed: make(chan struct{}), model: newModel(),
	}
	s.methods = modelled()
	s.Start()
	return s
}

// Socket is the path of its socket, for client.Options and COXSWAIN_SOCKET.
func (s *Sidecar) Socket() string { return filepath.Join(s.dir, "sidecar.sock") }

// Client returns a client of the sidecar, the same one each time. The sidecar's Close closes it.
// Client panics if the sidecar is stopped.
func (s *Sidecar) Client() *client.Client {
	s.dialing.Lock()
	defer s.dialing.Unlock()
	if s.own == nil {
		c, err := client.Dial(context.Background(), client.Options{Socket: s.Socket()})
		if err != nil {
			panic("clienttest: " + err.Error())
		}
		s.own = c
	}
	return s.own
}

// Close ends the sidecar and its Client, and removes the socket.
func (s *Sidecar) Close() {
	s.dialing.Lock()
	defer s.dialing.Unlock()
	if s.own != nil {
		_ = s.own.Close() // always nil
		s.own = nil
	}
	s.Stop()
	_ = os.RemoveAll(s.dir) // an error does not matter: it is in a folder for temporary files
}

// Stop ends the sidecar: connections break, and leases that are bound to them are given back; all
// other state stays. Start starts it again. A second Stop does nothing.
func (s *Sidecar) Stop() {
	s.turns.Lock()
	defer s.turns.Unlock()
	s.mu.Lock()
	stop, wg := s.stop, s.wg
	s.stop = nil
	s.mu.Unlock()
	if stop != nil {
		stop()
		wg.Wait()
	}
}

// Start starts the sidecar after Stop.
func (s *Sidecar) Start() {
	s.turns.Lock()
	defer s.turns.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return
	}
	l, err := net.Listen("unix", s.Socket())
	if err != nil {
		panic("clienttest: " + err.Error())
	}
	ctx, cancel := context.WithCancel(context.Background())
	wg := new(sync.WaitGroup)
	s.stop, s.wg = cancel, wg
	stopped := context.AfterFunc(ctx, func() { _ = l.Close() })
	wg.Go(func() { s.keepTime(ctx) })
	wg.Go(func() {
		defer stopped()
		defer l.Close()
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.serve(ctx, nc) })
		}
	})
}

// PutRule stores a rule as ratelimit.put_rule does. Without an algorithm it is a token_bucket.
func (s *Sidecar) PutRule(r api.Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Algorithm == "" {
		r.Algorithm = api.AlgorithmTokenBucket
	}
	if _, err := s.putRule(r); err != nil {
		panic("clienttest: " + err.Error())
	}
}

// PutPolicy configures a policy of breakers. It applies to breakers with the policy's name, and to
// calls that name the policy.
func (s *Sidecar) PutPolicy(p api.BreakerPolicy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[p.Name] = p
}

// SetError makes all calls fail with an error, such as &api.Error{Code: api.Unavailable}; nil = they
// succeed again. Calls of session.* and rpc.*, which need no Redis, do not fail.
func (s *Sidecar) SetError(err *api.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

// Lose ends the leases of a name and notifies their holders. Noun is lock, semaphore, pool, permit,
// queue, seen or stream; name is that of the lock, the set, the stream and so on. The reason is one
// that a sidecar gives, such as expired, unreachable or max_hold. Lose returns the number of leases.
func (s *Sidecar) Lose(noun, name, reason string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	lost := s.of(noun, name)
	for _, l := range lost {
		s.lose(l, reason)
	}
	s.wake()
	return len(lost)
}

// Emit sends an event to the connections that subscribed to its kind by events.subscribe. An AtMS of
// 0 is now.
func (s *Sidecar) Emit(e api.EventParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.AtMS == 0 {
		e.AtMS = s.now().UnixMilli()
	}
	e.Count = max(e.Count, 1)
	for cn := range s.conns {
		if slices.Contains(cn.kinds, e.Kind) {
			cn.notify(api.EventHappened.Name, e)
		}
	}
}

// Calls returns the calls of methods of nouns so far, in their order. Calls of session.* and rpc.*
// are not among them.
func (s *Sidecar) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Now returns the time of the sidecar's clock.
func (s *Sidecar) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// Freeze stops the clock at an instant, so that only Advance moves it; the zero time stops it at its
// present time.
func (s *Sidecar) Freeze(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.IsZero() {
		at = s.now()
	}
	s.clock = clock{frozen: true, at: at}
	s.wake()
}

// Advance moves the clock forward: limits refill, leases end, delayed messages are delivered. When
// it returns, everything that was due has happened, and waiting calls are woken but may not have
// been answered.
func (s *Sidecar) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock.at = s.clock.at.Add(d)
	s.clock.offset += d
	s.expire()
	s.wake()
}

// clock is the clock of a sidecar: the clock of the process plus an offset, or frozen.
type clock struct {
	offset time.Duration
	frozen bool
	at     time.Time // its time, if it is frozen
}

func (s *Sidecar) now() time.Time {
	if s.clock.frozen {
		return s.clock.at
	}
	return time.Now().Add(s.clock.offset)
}

// keepTime ends leases and delivers delayed messages when they are due, also while no client calls.
func (s *Sidecar) keepTime(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx.Err() == nil {
		if s.expire() {
			s.wake()
		}
		s.pause(ctx, time.Hour)
	}
}

// pause unlocks the mutex until the state has changed, d is over, a lease or a message is due, or ctx ends. While the
// clock is frozen, no time passes.
func (s *Sidecar) pause(ctx context.Context, d time.Duration) {
	if at, ok := s.nextDue(); ok {
		d = min(d, at.Sub(s.now()))
	}
	var over <-chan time.Time
	if !s.clock.frozen {
		t := time.NewTimer(max(d, time.Millisecond))
		defer t.Stop()
		over = t.C
	}
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
	}
}

// Waiting returns how many calls are in waiting lines. A test can poll it until a call has begun
// to wait.
func (s *Sidecar) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, line := range s.lines {
		n += len(line)
	}
	return n
}

// ErrModel is returned by a function of On to let the model answer the call.
var ErrModel = errors.New("clienttest: the model answers")

// On makes a function answer the calls of a method in place of the model; nil = the model answers
// again. If the function returns an *api.Error, the client gets it unchanged; if it returns
// ErrModel, the model answers this call. The function may use the sidecar, and may wait, but Stop
// and Close wait for its return.
//
//	clienttest.On(s, api.RatelimitAcquire, func(p api.RatelimitParams) (api.RatelimitResult, error) {
//		return api.RatelimitResult{DeniedBy: "pause", RetryAfterMS: 2000}, nil
//	})
func On[P, R any](s *Sidecar, m api.Method[P, R], fn func(P) (R, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fn == nil {
		delete(s.answers, m.Name)
		return
	}
	s.answers[m.Name] = method{spec: m.Spec, run: func(c *call) (any, error) {
		p := *c.params.(*P)
		c.s.mu.Unlock()
		defer c.s.mu.Lock()
		r, err := fn(p)
		return &r, err
	}}
}
