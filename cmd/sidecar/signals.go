package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// caught are the signals that sidecar exec gets in its command's place: all that
// can be caught, so that none ends it alone and leaves the command without the lock.
type caught struct {
	// ends ask for an end; they are apart, so that no flood of the others keeps them out.
	ends   chan os.Signal
	others chan os.Signal
}

// unsent are never passed on: the runtime and the C library use them, nobody
// catches them, or they tell sidecar exec something of its own: a child's end, a
// pipe that nobody reads, a write to a terminal that is the command's.
var unsent = map[syscall.Signal]bool{
	syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true, syscall.SIGURG: true, syscall.SIGPROF: true,
	syscall.SIGPIPE: true, syscall.SIGTTOU: true, 32: true, 33: true,
}

const lastSignal = 64

// catch starts the delivery of signals, and end stops it. A signal that this process
// was started to ignore, as nohup does with SIGHUP, stays ignored, by the command too.
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
	// A channel that nobody reads: to print to a closed pipe is then an error,
	// and not the end.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return c, func() {
		for _, x := range []chan os.Signal{c.ends, c.others, pipes} {
			signal.Stop(x)
		}
	}
}

// stop stops this process and, as the keyboard would, the others of its process
// group, until they are continued. It needs a goroutine that is locked to its thread:
// a signal to the own thread has worked when the call returns.
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

// endless reports whether a signal is none that ends a process by default.
func endless(s os.Signal) bool {
	switch s {
	case syscall.SIGCONT, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGTTIN:
		return true
	default:
		return false
	}
}
