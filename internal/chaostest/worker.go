package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// worker is a client program of one sidecar, with one connection at a time. After a
// kill it continues as another instance with the same tasks.
type worker struct {
	id      int
	history *History
	socket  string
	rnd     *rand.Rand
	// over is closed when no new work must begin; work that has begun goes on.
	over <-chan struct{}

	serial  int
	entries int // how many entries or messages it has put into its queue or its stream

	mu      sync.Mutex // guards what follows
	session *session   // nil while there is none
	lives   int
}

// session is one connection, from its start to its end.
type session struct {
	*client.Client
	name string

	mu     sync.Mutex // guards closed
	closed time.Duration
}

// ended returns when the session was killed, Never if it was not.
func (s *session) ended() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// connect returns the worker's session, and makes one if there is none. It tries
// until ctx ends.
func (w *worker) connect(ctx context.Context) (*session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session != nil {
		return w.session, nil
	}
	w.lives++
	name := fmt.Sprintf("w%02d.%d", w.id, w.lives)
	for {
		c, err := client.Dial(ctx, client.Options{Socket: w.socket, Client: "chaos", Instance: name})
		if err == nil {
			w.session = &session{Client: c, name: name, closed: Never}
			return w.session, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

// kill closes the connection while calls may be under way on it.
func (w *worker) kill() {
	w.mu.Lock()
	s := w.session
	w.session = nil
	w.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = w.history.Now()
	s.mu.Unlock()
	_ = s.Close() // it never returns an error
	w.cut(s.closed)
}

// token is a text that no other call of any worker uses.
func (w *worker) token() string {
	w.serial++
	return fmt.Sprintf("w%02d-%d", w.id, w.serial)
}

func (w *worker) one(of []string) string { return of[w.rnd.IntN(len(of))] }

// chance returns true with a probability in percent.
func (w *worker) chance(percent int) bool { return w.rnd.IntN(100) < percent }

// waitMS returns how many milliseconds a call waits in the waiting line, mostly 0.
func (w *worker) waitMS() int64 {
	if w.chance(40) {
		return 1000
	}
	return 0
}

// bind returns what a lease is bound to.
func (w *worker) bind() string {
	if w.chance(50) {
		return api.BindSession
	}
	return api.BindTTL
}

// pause waits for a random time up to most, and at most until no new work must begin.
func (w *worker) pause(most time.Duration) {
	select {
	case <-time.After(time.Duration(w.rnd.Int64N(int64(most)))):
	case <-w.over:
	}
}

// work repeats a cycle until the run is over.
func (w *worker) work(ctx context.Context, cycle func(context.Context)) {
	for {
		select {
		case <-w.over:
			return
		default:
		}
		cycle(ctx)
		w.pause(60 * time.Millisecond)
	}
}

// settle repeats a call under one request id until it is answered, on as many sessions as that takes. The answer then
// holds for all tries together. It returns the session's name, and false if ctx ended first.
func (w *worker) settle(ctx context.Context, call func(context.Context, *session) error) (by string, known bool) {
	id := "id-" + w.token()
	for {
		s, err := w.connect(ctx)
		if err != nil {
			return "", false
		}
		if err = call(client.WithRequestID(ctx, id), s); err == nil {
			return s.name, true
		}
		w.suspect(err)
		if ctx.Err() != nil {
			return s.name, false
		}
		select {
		case <-time.After(time.Duration(10+w.rnd.IntN(20)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// suspect records an error that no fault explains: one that blames the caller, since all calls are correct, or an
// internal one.
func (w *worker) suspect(err error) {
	var e *api.Error
	if !errors.As(err, &e) || !e.Code.CallerFault() && e.Code != api.Internal {
		return
	}
	w.strange("errors", fmt.Sprintf("worker %d was told: %v", w.id, e))
}

func (w *worker) strange(rule, what string) {
	w.history.add(func() {
		w.history.Strange = append(w.history.Strange, Violation{Rule: rule, What: at(w.history.Now()) + ": " + what})
	})
}

// fence parses a fence from the wire.
func fence(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // 0 breaks every rule about fences
	return n
}

const killClient = "kill client"

// workerFaults returns the fault that kills one of these workers.
func workerFaults(workers []*worker) []Fault {
	return []Fault{{
		Name: killClient, Targets: len(workers), Weight: 4,
		Begin: func(e Event) (func() error, error) {
			workers[e.Target].kill()
			return nil, nil //nolint:nilnil // the fault has no duration, and so no end
		},
	}}
}

var outcomes = []Outcome{Released, Expired, NotOwner, Renewed, Acked, Nacked}

// outcome returns the outcome for a reason of the wire.
func outcome(reason string) Outcome {
	if i := slices.Index(outcomes, Outcome(reason)); i >= 0 {
		return outcomes[i]
	}
	return Outcome("unheard of: " + reason)
}
