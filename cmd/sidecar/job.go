package main

import (
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// job is the command's process group, as a shell has one for each command line.
// The terminal talks to one group at a time: to the command's while it reads, and to
// that of sidecar exec when the command stops or ends.
type job struct {
	group  int
	own    int // the group of this process
	tty    int // -1 without a terminal
	caught *caught
}

// newJob hands the terminal over at once when it is all that the command talks
// to. In a pipeline another program, such as a pager, may need it, so there the
// command gets it when it first reads it: the kernel then stops it.
func newJob(group int, c *caught, in io.Reader, out io.Writer) *job {
	j := &job{group: group, own: unix.Getpgrp(), tty: -1, caught: c}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return j
	}
	j.tty = fd
	// Else to take the terminal back, or to print while it is the command's, stops this process.
	signal.Ignore(syscall.SIGTTOU)
	if telemetry.IsTerminal(in) && telemetry.IsTerminal(out) && j.foreground() == j.own {
		j.give(j.group)
	}
	return j
}

// foreground is the group that the terminal talks to.
func (j *job) foreground() int {
	if j.tty < 0 {
		return -1
	}
	group, err := unix.IoctlGetInt(j.tty, unix.TIOCGPGRP)
	if err != nil {
		return -1 // it was hung up
	}
	return group
}

func (j *job) give(group int) { _ = unix.IoctlSetPointerInt(j.tty, unix.TIOCSPGRP, group) } // it may be hung up

func (j *job) signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-j.group, n) // it may have ended just now
	}
}

// end takes the terminal back, and tells whether the command had it.
func (j *job) end() (had bool) {
	if j.tty < 0 {
		return false
	}
	if had = j.foreground() == j.group; had {
		j.give(j.own)
	}
	signal.Reset(syscall.SIGTTOU)
	_ = unix.Close(j.tty)
	return had
}

// stopped deals with a command that a signal has stopped: it is given the
// terminal if it stopped for want of it, and else this process stops too, so that the
// shell that waits for it goes on, and continues the command when it is continued.
// It reports whether the command can go on.
func (j *job) stopped(s syscall.Signal) bool {
	wants := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	front := j.foreground()
	switch {
	case j.tty < 0:
		return true // whoever stopped it continues it
	case wants && (front == j.own || front == j.group):
		j.give(j.group)
	case orphaned():
		// No shell could continue this process, so that none stops it either.
		if wants {
			return false
		}
	default:
		if front == j.group {
			j.give(j.own)
		}
		j.caught.stop()
		if front == j.group && j.foreground() == j.own {
			j.give(j.group)
		}
	}
	j.signal(syscall.SIGCONT)
	return true
}

// orphaned reports whether the process group of this process has no parent of
// another group in its session: a shell, which could continue it once it is stopped.
func orphaned() bool {
	own := unix.Getpgrp()
	session, err := unix.Getsid(0)
	for pid := os.Getppid(); err == nil && pid > 0; pid = parent(pid) {
		var other int
		if other, err = unix.Getsid(pid); err != nil || other != session {
			return true
		}
		if group, err := unix.Getpgid(pid); err == nil && group != own {
			return false
		}
	}
	return true
}

// parent is the process that started another, 0 for none.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1]) // the kernel writes numbers
	return n
}

// states tells each stop of a process, and its end, which is the last.
func states(pid int) <-chan syscall.WaitStatus {
	all := make(chan syscall.WaitStatus)
	go func() {
		for {
			var s syscall.WaitStatus
			switch _, err := syscall.Wait4(pid, &s, syscall.WUNTRACED, nil); err {
			case nil:
			case syscall.EINTR:
				continue
			default:
				close(all)
				return
			}
			all <- s
			if !s.Stopped() {
				return
			}
		}
	}()
	return all
}
