package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// caught receives signals that sidecar exec passes on to its command: all that can be caught, so
// that none ends sidecar exec alone and leaves the command running without the lock.
type caught struct {
	// ends receives SIGTERM and SIGINT. It is separate, so that no flood of other signals delays them.
	ends   chan os.Signal
	others chan os.Signal
}

// unsent are the signals that are never passed on: the Go runtime or the C library uses them, they
// cannot be caught, or they concern sidecar exec itself: the end of a child, a write to a closed
// pipe, or to a terminal whose foreground group is the command's.
var unsent = map[syscall.Signal]bool{
	syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true, syscall.SIGURG: true, syscall.SIGPROF: true,
	syscall.SIGPIPE: true, syscall.SIGTTOU: true, 32: true, 33: true,
}

const lastSignal = 64

// catch starts the delivery of signals, and end stops it. A signal that this process ignores since
// its start, such as SIGHUP under nohup, stays ignored, by the command too.
func catch() (c *caught, end func()) {
	c = &caught{make(chan os.Signal, 4), make(chan os.Signal, lastSignal)}
	for n := syscall.Signal(1); n <= lastSignal; n++ {
		switch {
		case unsent[n] || signal.Ignored(n):
		case n == syscall.SIGTERM || n == syscall.SIGINT:
			signal.Notify(c.ends, n)
		default:
			signal.Notify(c.others, n)
		}
	}
	// Nothing reads this channel. It makes a write to a closed pipe fail, instead of ending the process.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return c, func() {
		for _, x := range []chan os.Signal{c.ends, c.others, pipes} {
			signal.Stop(x)
		}
	}
}

// stop stops this process and the others of its process group, as Ctrl-Z would, until they are
// continued. The goroutine must be locked to its thread: a signal to the calling thread has taken
// effect when the call returns.
func (c *caught) stop() {
	signal.Ignore(syscall.SIGTSTP)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGSTOP)
	signal.Notify(c.others, syscall.SIGTSTP)
}

// raise ends this process and the others of its group by a signal.
func raise(s syscall.Signal) {
	signal.Reset(s)
	_ = syscall.Kill(0, s)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s)
}

// endless reports whether a signal does not end a process by default.
func endless(s os.Signal) bool {
	switch s {
	case syscall.SIGCONT, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGTTIN:
		return true
	default:
		return false
	}
}
