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

// job is the command's process group, like the job of a shell. A terminal has one foreground group:
// the command's while it runs, and that of sidecar exec when the command has stopped or ended.
type job struct {
	group  int
	own    int // the process group of this process
	tty    int // -1 without a terminal
	caught *caught
}

// newJob puts the command into the foreground at once if both its input and its output are the
// terminal. In a pipeline another program, such as a pager, may need the terminal; there the command
// is put into the foreground when it first reads from the terminal, for which the kernel stops it.
func newJob(group int, c *caught, in io.Reader, out io.Writer) *job {
	j := &job{group: group, own: unix.Getpgrp(), tty: -1, caught: c}
	// Without this, changing the foreground group or printing while in the background would stop this process.
	signal.Ignore(syscall.SIGTTOU)
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return j
	}
	j.tty = fd
	if telemetry.IsTerminal(in) && telemetry.IsTerminal(out) && j.foreground() == j.own {
		j.give(j.group)
	}
	return j
}

// foreground returns the foreground group of the terminal, -1 if there is none.
func (j *job) foreground() int {
	if j.tty < 0 {
		return -1
	}
	group, err := unix.IoctlGetInt(j.tty, unix.TIOCGPGRP)
	if err != nil {
		return -1 // the terminal was hung up
	}
	return group
}

func (j *job) give(group int) { _ = unix.IoctlSetPointerInt(j.tty, unix.TIOCSPGRP, group) } // it fails if the terminal was hung up

func (j *job) signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-j.group, n) // it fails if the group has just ended
	}
}

// end sends a signal that is to end the command, and continues the command: a stopped process takes the signal only then.
func (j *job) end(s os.Signal) {
	j.signal(s)
	j.signal(syscall.SIGCONT)
}

// leave puts this process into the foreground again, and reports whether the command was there.
func (j *job) leave() (had bool) {
	defer signal.Reset(syscall.SIGTTOU)
	if j.tty < 0 {
		return false
	}
	if had = j.foreground() == j.group; had {
		j.give(j.own)
	}
	_ = unix.Close(j.tty)
	return had
}

// stopped handles a command that a signal has stopped. If it stopped since it needs the terminal, it is
// put into the foreground. Else this process stops too, so that the shell that waits for it can go on,
// and continues the command when it is continued itself. stopped reports whether the command continues.
func (j *job) stopped(s syscall.Signal) bool {
	wants := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	front := j.foreground()
	switch {
	case j.tty < 0:
		return true // the sender of the signal will continue it
	case wants && (front == j.own || front == j.group):
		j.give(j.group)
	case orphaned():
		// This process does not stop, since no shell could continue it.
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

// orphaned reports whether no ancestor of this process in its session is in another process group. Such
// an ancestor is a shell, which could continue this process once it is stopped.
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

// parent returns the id of a process's parent, 0 if there is none.
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

// states sends each stop of a process, and last its end. It closes the channel if the process cannot be
// waited for.
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
