package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// child is a process of this run.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts a program, which runs until stop; its standard error is this program's.
func start(env []string, name string, args ...string) (*child, error) {
	return launch(command(env, name, args...))
}

// command returns the command that start runs.
func command(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(childEnv(), env...)
	cmd.Stderr = os.Stderr
	// The child must not outlive this process, however this process ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd
}

// childEnv returns the environment without variables that would change a sidecar. A sidecar
// refuses to start with COXSWAIN_ variables that it does not know.
func childEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"COXSWAIN_", "OTEL_", "GOMEMLIMIT=", "AUTOMEMLIMIT"}, func(prefix string) bool {
			return strings.HasPrefix(v, prefix)
		})
	})
}

// runToEnd runs a program to its end; the error has its output.
func runToEnd(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = childEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, args[0], err, out)
	}
	return nil
}

func launch(cmd *exec.Cmd) (*child, error) {
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the end by our signal is an error of Wait
		close(c.done)
	}()
	return c, nil
}

func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-c.done:
	case <-time.After(10 * time.Second):
		c.kill()
	}
}

// kill ends the process without giving it a chance to clean up.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended already
	<-c.done
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// cpu returns the user and system time that the process has used so far.
func (c *child) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid)) //nolint:gosec // a number
	if err != nil {
		return 0, err
	}
	// The command in parentheses may hold spaces; utime and stime are fields 14 and 15.
	_, after, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has only %d fields", c.cmd.Process.Pid, len(fields))
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// The lines of /proc about memory that this program reads.
const (
	memoryNow       = "VmRSS"   // resident
	memoryMost      = "VmHWM"   // the most that was resident so far
	memoryAnonymous = "RssAnon" // resident and anonymous
)

var memoryLine = regexp.MustCompile(`(?m)^(VmRSS|VmHWM|RssAnon):\s+(\d+) kB$`)

// memory reads a line of the process's status in /proc, in bytes.
func (c *child) memory(line string) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, m := range memoryLine.FindAllStringSubmatch(string(b), -1) {
		if m[1] == line {
			kib, err := strconv.ParseFloat(m[2], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", c.cmd.Process.Pid, line)
}

func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
