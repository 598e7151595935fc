package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// The exit codes of exec, besides those of its command. Codes that have a meaning elsewhere have the
// same meaning here.
const (
	// exitNotHad: the lock was not acquired (EX_TEMPFAIL of sysexits.h).
	exitNotHad = 75
	// exitLost: the lock was lost before the command ended. The code has no meaning elsewhere.
	exitLost = 79
	// exitCannotRun and exitNotFound are those of a shell for a command that it cannot run.
	exitCannotRun = 126
	exitNotFound  = 127
)

// fenceVariable is the variable that passes the fence to the command.
const fenceVariable = "COXSWAIN_LOCK_FENCE"

// locked is a run of sidecar exec.
type locked struct {
	p                        process
	socket, name             string
	wait, ttl, hold, killing time.Duration
	args                     []string
	caught                   *caught
	// say writes to stderr while the lock is held. It does not block, since a reader that is slow or
	// gone must delay neither the end of the command nor the release of the lock.
	say *telemetry.AsyncWriter
}

func newExec(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec --lock NAME [flags] -- CMD [ARGS]",
		Short: "Run a command while holding a lock",
		Long: `Acquire a lock, run a command, and release the lock when the command ends.

The command has ` + fenceVariable + ` in its environment: the fence, a number that rises with each new holder. What the
lock protects can refuse a lower fence than the highest it has seen. The command runs in a process group of its own, to which
sidecar exec passes on each signal, with SIGCONT after SIGTERM and SIGINT, since a stopped process ends only when it is continued. If
the lock is lost, the group is sent SIGTERM, and SIGKILL after --kill-after.

On a terminal the command is the foreground job, as in a shell: it can read from the terminal, Ctrl-C ends it, and Ctrl-Z stops
it and sidecar exec until fg or bg, while the lock stays held. In a pipeline the command gets the terminal when it first reads it.

If sidecar exec is killed by SIGKILL, the kernel kills the command, but not the processes that the command has started.

Exit codes:
  the command's, or 128 and the number of the signal that ended it, unless
  75   the lock was not acquired: another holds it, or Redis did not answer in time; the command did not run
  79   the lock was lost before the command had ended
  126  the command cannot be run; 127 there is no such command
  3    no sidecar answers on the socket; 2 bad usage; 1 any other failure`,
		Example: `  sidecar exec --lock nightly -- ./report.sh
  sidecar exec --lock migrate --wait 5m --ttl 10s -- ./migrate up`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("the command is missing: write it after --, as in sidecar exec --lock nightly -- CMD")
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after CMD are those of CMD
	x := locked{p: p}
	socket := addSocketFlag(cmd, p)
	cmd.Flags().StringVar(&x.name, "lock", "", "`name` of the lock")
	names(lockList.names).of(cmd, "lock")
	cmd.Flags().DurationVar(&x.wait, "wait", 0, "`duration` to wait for the lock; if longer than 60s, the wait goes to the end of the waiting line each minute")
	cmd.Flags().DurationVar(&x.ttl, "ttl", 30*time.Second, "`duration` after which the lock is free if this machine fails")
	cmd.Flags().DurationVar(&x.hold, "max-hold", 0, "`duration` after which the lock is lost and the command is ended; 0 = never")
	cmd.Flags().DurationVar(&x.killing, "kill-after", 10*time.Second, "`duration` from SIGTERM to SIGKILL when the lock is lost")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if x.name == "" {
			return usage("--lock is missing: name the lock, as in sidecar exec --lock nightly -- CMD")
		}
		if x.wait < 0 || x.killing < 0 {
			return usage("--wait and --kill-after: use 0 or more")
		}
		x.socket, x.args = *socket, args
		var uncatch func()
		x.caught, uncatch = catch()
		defer uncatch()
		x.say = telemetry.NewAsyncWriter(p.err)
		defer x.say.Close(lastLines)
		return x.printed(x.run(cmd.Context()))
	}
	return cmd
}

// printed prints an error, and returns one with the same exit code.
func (x *locked) printed(err error) error {
	var e *exit
	if err == nil || errors.As(err, &e) && e.err == nil {
		return err
	}
	if e == nil {
		e = &exit{code: exitFailed}
	}
	_ = printLine(x.say, "%v", err)
	return &exit{code: e.code}
}

func (x *locked) run(ctx context.Context) error {
	// The kernel kills the command (Pdeathsig) when the thread that started it ends, so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path, err := exec.LookPath(x.args[0])
	if err != nil {
		return &exit{notRun(err), err}
	}
	c, err := dial(ctx, x.socket, "sidecar exec", false)
	if err != nil {
		return err
	}
	defer c.Close()
	lk, err := x.acquire(ctx, c)
	if err != nil {
		return err
	}
	code, interrupted, err := x.under(lk, path)
	if gone := lk.Release(ctx); errors.Is(gone, client.ErrLost) {
		return &exit{exitLost, fmt.Errorf("the lock was not held to the end: %w", gone)}
	} else if gone != nil {
		_ = printLine(x.say, "the lock was not released and is free when its TTL ends: %v", gone)
	}
	if interrupted {
		// The terminal sent SIGINT only to the command, whose group was in the foreground. A script
		// that runs sidecar exec must get it too, and see this process end by it, to end itself.
		x.p.raise(syscall.SIGINT)
	}
	if err != nil || code != exitOK {
		return &exit{code, err}
	}
	return nil
}

// acquire takes the lock, unless a signal comes first.
func (x *locked) acquire(ctx context.Context, c *client.Client) (*client.Lock, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		lk  *client.Lock
		err error
	}
	done := make(chan result, 1)
	go func() {
		lk, err := x.tryFor(ctx, c)
		done <- result{lk, err}
	}()
	for {
		var s os.Signal
		select {
		case s = <-x.caught.ends:
		case s = <-x.caught.others:
		case r := <-done:
			if r.err != nil {
				return nil, notHad(x.name, r.err)
			}
			return r.lk, nil
		}
		switch {
		case s == syscall.SIGTSTP && !orphaned():
			x.caught.stop()
			continue
		case endless(s):
			continue
		}
		cancel()
		if r := <-done; r.err == nil {
			_ = r.lk.Release(ctx) // if it fails, the end of the connection releases the lock
		}
		return nil, &exit{code: signalled(s)}
	}
}

func (x *locked) tryFor(ctx context.Context, c *client.Client) (*client.Lock, error) {
	until := time.Now().Add(x.wait)
	for {
		left := max(0, time.Until(until))
		lk, err := c.LockAcquire(ctx, x.name, client.LockOptions{
			TTL: x.ttl, Wait: min(left, longestWait), MaxHold: x.hold, Meta: x.args[0],
		})
		if left > longestWait && errors.Is(err, client.ErrBusy) {
			continue
		}
		return lk, err
	}
}

// notHad returns the error for a lock that was not acquired, with exitNotHad if a retry may succeed.
func notHad(name string, err error) error {
	var reply *api.Error
	switch {
	case isConnectError(err):
		return &exit{exitUnreachable, err}
	case errors.Is(err, client.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.As(err, &reply) && reply.Retryable:
		return &exit{exitNotHad, fmt.Errorf("the lock was not acquired: %w", err)}
	case errors.Is(err, api.InvalidArgument):
		return usage("lock %s: %w", name, err)
	default:
		return err
	}
}

// under runs the command while the lock is held. It returns its exit code, and whether Ctrl-C ended it
// while its group was in the foreground.
func (x *locked) under(lk *client.Lock, path string) (code int, interrupted bool, err error) {
	cmd := &exec.Cmd{
		Path: path, Args: x.args, Stdin: x.p.in, Stdout: x.p.out, Stderr: x.p.err,
		Env: append(append([]string(nil), x.p.env...), fenceVariable+"="+strconv.FormatUint(lk.Fence(), 10)),
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:   true, // signals reach all processes of the command, and those of a terminal reach each of them once
			Pdeathsig: syscall.SIGKILL,
		},
	}
	if err := cmd.Start(); err != nil {
		return notRun(err), false, err
	}
	j := newJob(cmd.Process.Pid, x.caught, x.p.in, x.p.out)
	changes := states(cmd.Process.Pid)
	var kill <-chan time.Time
	finish := func(why error) {
		_ = printLine(x.say, "lock %s: %v; ending the command", x.name, why)
		j.end(syscall.SIGTERM)
		kill = time.After(x.killing)
	}
	lost, told := lk.Context().Done(), false
	for {
		select {
		case s, ok := <-changes:
			if ok && s.Stopped() {
				if kill == nil && !j.stopped(s.StopSignal()) {
					finish(errors.New("the command reads from a terminal, and no shell can put it into the foreground"))
				}
				continue
			}
			had := j.leave()
			if kill != nil {
				endGroup(cmd.Process.Pid, kill)
			}
			// The process is reaped already. Wait waits for the goroutines that copy its input and output.
			err := cmd.Wait()
			switch {
			case !ok || !errors.Is(err, syscall.ECHILD):
				return exitFailed, false, err // it is not known how the command ended
			case s.Signaled():
				return signalled(s.Signal()), had && !told && s.Signal() == syscall.SIGINT, nil
			default:
				return s.ExitStatus(), false, nil
			}
		case s := <-x.caught.ends:
			told = true
			j.end(s)
		case s := <-x.caught.others:
			j.signal(s)
		case <-lost:
			lost = nil
			finish(context.Cause(lk.Context()))
		case <-kill:
			j.signal(syscall.SIGKILL)
		}
	}
}

// endGroup waits until all processes of a group have ended, and kills them when kill fires: without the
// lock none of them may continue.
func endGroup(pid int, kill <-chan time.Time) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(-pid, 0) == nil {
		select {
		case <-tick.C:
		case <-kill:
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			return
		}
	}
}

func signalled(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailed
}

// notRun returns the exit code for a command that could not be started.
func notRun(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotRun
}
