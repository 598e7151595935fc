package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// task is the work of a worker, which is a child process: this program or a Python program. So its
// CPU time is its own, and killing it is the end of a whole process.
type task struct {
	Kind     string // a key of workers, or a kind of Python worker
	Addr     string // of Redis
	Socket   string // of a sidecar
	Script   evalsha
	Callers  int
	Duration time.Duration
}

// workResult is what a worker prints at its end.
type workResult struct {
	Calls int
	Took  time.Duration
	CPU   time.Duration
}

// The kinds of workers.
const (
	kindLoop   = "loop"       // go-redis's AutoPipeliner over a script
	kindRate   = "redis_rate" // redis_rate
	kindClient = "client"     // acquires through package client
	kindHolder = "holder"     // holds a lock and does nothing else
)

// heldName is the lock of a holder.
const heldName = "held"

// prepared is a worker that is ready: call makes one of its calls.
type prepared struct {
	call  func(key string) error
	close func()
}

var workers = map[string]func(context.Context, task) (prepared, error){
	kindLoop: func(ctx context.Context, t task) (prepared, error) {
		db := newDB(t.Addr)
		pipe, err := db.AutoPipeline()
		if err != nil {
			return prepared{}, err
		}
		return prepared{
			func(key string) error { return t.Script.eval(ctx, pipe, key) },
			func() { _ = pipe.Close(); _ = db.Close() }, // no command is under way
		}, nil
	},
	kindRate: func(ctx context.Context, t task) (prepared, error) {
		db := newDB(t.Addr)
		return prepared{rateLimit(ctx, db), func() { _ = db.Close() }}, nil // no command is under way
	},
	kindClient: func(ctx context.Context, t task) (prepared, error) {
		c, err := dialed(ctx, t.Socket, t.Callers)
		if err != nil {
			return prepared{}, err
		}
		return prepared{clientAcquire(ruleName)(ctx, c), func() { _ = c.Close() }}, nil // it has no leases
	},
	kindHolder: func(ctx context.Context, t task) (prepared, error) {
		c, err := dialed(ctx, t.Socket, 1)
		if err != nil {
			return prepared{}, err
		}
		if _, err := c.LockAcquire(ctx, heldName, client.LockOptions{}); err != nil {
			return prepared{}, err
		}
		return prepared{nil, func() { _ = c.Close() }}, nil // which gives the lock back
	},
}

// work is the child's side: it reads its task, prints an empty result when it is ready, waits
// for a line, works, and prints its result.
func work(ctx context.Context, r io.Reader, w io.Writer) error {
	in, out := bufio.NewReader(r), json.NewEncoder(w)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	var t task
	if err := json.Unmarshal(line, &t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	prepare, ok := workers[t.Kind]
	if !ok {
		return fmt.Errorf("there is no worker %q", t.Kind)
	}
	p, err := prepare(ctx, t)
	if err != nil {
		return err
	}
	defer p.close()
	if err := out.Encode(workResult{}); err != nil {
		return err
	}
	if _, err := in.ReadBytes('\n'); err != nil {
		return nil // the parent wants no work, or has ended
	}
	before, err := ownCPU()
	if err != nil {
		return err
	}
	got, err := closedLoop(t.Callers, t.Duration, shared(keyCount), p.call)
	if err != nil {
		return err
	}
	after, err := ownCPU()
	if err != nil {
		return err
	}
	return out.Encode(workResult{got.calls, got.took, after - before})
}

// worker is the parent's side.
type worker struct {
	*child
	in  io.WriteCloser
	out *json.Decoder
}

// startWorker starts a worker and waits until it is ready.
func startWorker(t task) (*worker, error) {
	cmd := command(nil, os.Args[0], modeWork)
	if t.Kind == kindPython || t.Kind == kindRedisPy {
		env, name, args, err := pythonProgram()
		if err != nil {
			return nil, err
		}
		cmd = command(env, name, args...)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe, which Wait closes when the process ends: the result may not have been read by then.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = theirs
	c, err := launch(cmd)
	_ = theirs.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	w := &worker{child: c, in: in, out: json.NewDecoder(out)}
	if err := json.NewEncoder(in).Encode(t); err != nil {
		w.stop()
		return nil, fmt.Errorf("worker %s: %w", t.Kind, err)
	}
	if _, err := w.result(); err != nil {
		w.stop()
		return nil, fmt.Errorf("worker %s: %w", t.Kind, err)
	}
	return w, nil
}

// begin makes the worker start its work.
func (w *worker) begin() error {
	_, err := io.WriteString(w.in, "go\n")
	return err
}

func (w *worker) result() (workResult, error) {
	var r workResult
	err := w.out.Decode(&r)
	return r, err
}

// loop runs the sidecar's script by go-redis's AutoPipeliner: the cost of sharing Redis among
// callers without a sidecar.
func loop(callers int) runner {
	return func(_ context.Context, s *side, d time.Duration) (sample, error) {
		r, err := together([]task{{Kind: kindLoop, Addr: s.lab.redisAddr, Script: s.script, Callers: callers, Duration: d}})
		if err != nil {
			return sample{}, err
		}
		return sample{rate: float64(r.Calls) / r.Took.Seconds(), cpu: r.CPU / time.Duration(max(r.Calls, 1))}, nil
	}
}

// together runs workers at once and returns the sum of their calls and CPU, and the time of the slowest.
func together(tasks []task) (sum workResult, err error) {
	var all []*worker
	defer func() {
		for _, w := range all {
			w.stop()
		}
	}()
	for _, t := range tasks {
		w, err := startWorker(t)
		if err != nil {
			return sum, err
		}
		all = append(all, w)
	}
	for _, w := range all {
		if err := w.begin(); err != nil {
			return sum, err
		}
	}
	for i, w := range all {
		r, err := w.result()
		if err != nil {
			return sum, fmt.Errorf("worker %d: %w", i, err)
		}
		sum.Calls += r.Calls
		sum.CPU += r.CPU
		sum.Took = max(sum.Took, r.Took)
	}
	return sum, nil
}
