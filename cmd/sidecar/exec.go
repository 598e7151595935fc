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

// The exit codes of exec beside those of its command. Those that other programs
// give a meaning are given the same one.
const (
	// exitNotHad: the lock was not had (EX_TEMPFAIL of sysexits.h).
	exitNotHad = 75
	// exitLost: the lock was not held to the end. No other program means anything by it.
	exitLost = 79
	// exitCannotRun and exitNotFound are a shell's for a command that it cannot run.
	exitCannotRun = 126
	exitNotFound  = 127
)

// fenceVariable is how a command learns its fence.
const fenceVariable = "COXSWAIN_LOCK_FENCE"

// locked is what sidecar exec was asked to do.
type locked struct {
	p                        process
	socket, name             string
	wait, ttl, hold, killing time.Duration
	args                     []string
	caught                   *caught
	// say is stderr for what is said while the lock is held: a reader that is slow,
	// or gone, must keep neither the lock nor the command from its end.
	say *telemetry.AsyncWriter
}

func newExec(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec --lock NAME [flags] -- CMD [ARGS]",
		Short: "Run a command while holding a lock",
		Long: `Take a lock, run a command, and give the lock back when the command ends.

The command has ` + fenceVariable + ` in its environment: a number that rises with every new holder, for what the
lock protects to refuse the lower one. It runs in a process group of its own, to which each signal that sidecar exec gets
is passed on. When the lock is lost, the group is sent SIGTERM, and SIGKILL after --kill-after.

On a terminal the command has it, as in a shell: it can read, Ctrl-C ends it, and Ctrl-Z stops it and sidecar exec, lock
in hand, until fg or bg. In a pipeline it has the terminal from when it first reads it.

The kernel kills the command when sidecar exec is killed by SIGKILL, but not what the command has started by then.

Exit codes:
  the command's, or 128 and the number of the signal that ended it, unless
  75   the lock was not had: someone else holds it, or Redis did not answer in time; the command did not run
  79   the lock was lost before the command had ended
  126  the command cannot be run; 127 there is no such command
  3    no sidecar answers on the socket; 2 bad usage; 1 any other failure`,
		Example: `  sidecar exec --lock nightly -- ./report.sh
  sidecar exec --lock migrate --wait 5m --ttl 10s -- ./migrate up`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("the command is missing: write it behind --, as in sidecar exec --lock nightly -- CMD")
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows CMD is its own
	x := locked{p: p}
	socket := addSocketFlag(cmd, p)
	cmd.Flags().StringVar(&x.name, "lock", "", "`name` of the lock")
	names(lockList.names).of(cmd, "lock")
	cmd.Flags().DurationVar(&x.wait, "wait", 0, "`duration` to wait for the lock; above 60s it goes to the end of the line each minute")
	cmd.Flags().DurationVar(&x.ttl, "ttl", 30*time.Second, "`duration` that the lock outlives this process's machine")
	cmd.Flags().DurationVar(&x.hold, "max-hold", 0, "`duration` after which the lock is lost, and the command ended; 0 for no end")
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
		return x.told(x.run(cmd.Context()))
	}
	return cmd
}

// told says why it ends.
func (x *locked) told(err error) error {
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
	// The kernel kills the command when the thread ends that has started it.
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
		_ = printLine(x.say, "the lock is free when its TTL ends: %v", gone)
	}
	if interrupted {
		// The keyboard told the command alone, as the terminal was its own. A script that
		// runs sidecar exec ends too if it is told, and sees this process end by it.
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
			_ = r.lk.Release(ctx) // it ends with the connection otherwise
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

// notHad tells what may be otherwise next time from what will not be.
func notHad(name string, err error) error {
	var reply *api.Error
	switch {
	case isConnectError(err):
		return &exit{exitUnreachable, err}
	case errors.Is(err, client.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.As(err, &reply) && reply.Retryable:
		return &exit{exitNotHad, fmt.Errorf("the lock is not had: %w", err)}
	case errors.Is(err, api.InvalidArgument):
		return usage("lock %s: %w", name, err)
	default:
		return err
	}
}

// under runs the command while the lock is held, and returns its exit code, and
// whether Ctrl-C has ended it while the terminal was its own.
func (x *locked) under(lk *client.Lock, path string) (code int, interrupted bool, err error) {
	cmd := &exec.Cmd{
		Path: path, Args: x.args, Stdin: x.p.in, Stdout: x.p.out, Stderr: x.p.err,
		Env: append(append([]string(nil), x.p.env...), fenceVariable+"="+strconv.FormatUint(lk.Fence(), 10)),
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:   true, // signals go to all that the command starts, and a terminal's to none of it twice
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
		j.signal(syscall.SIGTERM)
		j.signal(syscall.SIGCONT) // what is stopped ends when it goes on
		kill = time.After(x.killing)
	}
	lost, told := lk.Context().Done(), false
	for {
		select {
		case s, ok := <-changes:
			if ok && s.Stopped() {
				if kill == nil && !j.stopped(s.StopSignal()) {
					finish(errors.New("the command reads a terminal that it cannot have"))
				}
				continue
			}
			had := j.end()
			if kill != nil {
				endGroup(cmd.Process.Pid, kill)
			}
			// The process is reaped; this waits for what passes its input and output on.
			err := cmd.Wait()
			switch {
			case !ok || !errors.Is(err, syscall.ECHILD):
				return exitFailed, false, err // how it ended is not known
			case s.Signaled():
				return signalled(s.Signal()), had && !told && s.Signal() == syscall.SIGINT, nil
			default:
				return s.ExitStatus(), false, nil
			}
		case s := <-x.caught.ends:
			told = true
			j.signal(s)
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

// endGroup waits until nothing is left of a group that outlives its leader, and
// kills it in the end: without the lock nothing of it may go on.
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

// notRun is the exit code for a command that could not be started.
func notRun(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotRun
}
