package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
)

const (
	// demoTTL is so long that a lock that is freed during the demo cannot have expired.
	demoTTL = 10 * time.Minute
	// demoAgain is the pause between two tries to take what a dead client held.
	demoAgain = time.Millisecond
	crasher   = "carol"
)

// newDemoHolder makes the hidden command for the client that the demo kills. It is a process of its own,
// so that its crash is real.
func newDemoHolder(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "demo-holder",
		Short:  "Hold the demo's lock until standard input ends",
		Args:   cobra.NoArgs,
		Hidden: true,
	}
	socket := addSocketFlag(cmd, p)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := dial(cmd.Context(), *socket, crasher, false)
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.LockAcquire(cmd.Context(), demoLock, client.LockOptions{TTL: demoTTL})
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, l.Fence())
		_, err = io.Copy(io.Discard, p.in) // so that it never outlives the demo
		return err
	}
	return cmd
}

// crash kills a client that holds the lock and shows that the lock is free.
func (d *demo) crash(bob *client.Client) {
	d.title(fmt.Sprintf("%s holds the lock, whose TTL is %v, and is killed with kill -9", crasher, demoTTL), "client", "asks to", "answer")
	kill, err := d.startHolder()
	if err != nil {
		d.fail(fmt.Errorf("client %s: %w", crasher, err))
		return
	}
	_, left := d.take(bob, "bob", crasher)
	killed := time.Now()
	if err := kill(); err != nil {
		d.fail(err)
		return
	}
	d.say("  %s\t%s\t", crasher, "(is killed)")
	l, err := takeFreed(d.ctx, bob)
	took := time.Since(killed)
	if err != nil {
		d.row(false, "bob", "take it", fmt.Sprintf("still busy after %v", took.Round(time.Millisecond)))
		return
	}
	d.row(took < left, "bob", "take it", fmt.Sprintf("acquired %v later, when the TTL had %v to go",
		took.Round(100*time.Microsecond), (left-took).Round(time.Second)))
	if err := l.Release(d.ctx); err != nil {
		d.fail(err)
	}
}

// startHolder starts the client and returns when it holds the lock.
func (d *demo) startHolder() (kill func() error, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(d.ctx, exe, "demo-holder", "--socket", d.socket) //nolint:gosec // it is this very program
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	kill = func() error {
		if err := cmd.Process.Kill(); err != nil { // by SIGKILL, so that it cannot release the lock
			return err
		}
		_ = cmd.Wait() // its error is the signal
		return nil
	}
	fence, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = in.Close()
		return nil, errors.Join(fmt.Errorf("it did not get the lock: %w", err), cmd.Wait())
	}
	d.row(true, crasher, "take it", "acquired, fence "+fence[:len(fence)-1])
	return kill, nil
}

// takeFreed asks until it gets the lock. The sidecar notices that the client is dead by its closed
// connection, which the kernel may report a little later.
func takeFreed(ctx context.Context, c *client.Client) (*client.Lock, error) {
	for {
		l, err := c.LockAcquire(ctx, demoLock, client.LockOptions{TTL: demoTTL})
		if !errors.Is(err, client.ErrBusy) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(demoAgain):
		}
	}
}
