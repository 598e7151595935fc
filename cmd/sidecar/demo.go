package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// demoTime bounds the whole demo, which takes well under a second on an idle machine.
const demoTime = 5 * time.Minute

func newDemo(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show a limit, a contended lock and a crash, without Redis",
		Long: `Start a sidecar on the embedded store in a temporary folder, and show on it: a limit that is used up, a lock that two
clients want, and a client that is killed while it holds a lock. Every answer is checked: the exit code is 0 only if all are
as expected. The temporary folder is removed.`,
		Example: "  sidecar demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoTime)
			defer cancel()
			return runDemo(ctx, p)
		},
	}
}

func runDemo(ctx context.Context, p process) (err error) {
	dir, err := os.MkdirTemp("", "coxswain-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "sidecar.sock")
	stop, err := startDemoSidecar(socket, p.err)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer stop()
	return showDemo(ctx, p.out, socket)
}

// startDemoSidecar runs a whole sidecar, from the socket to the store.
func startDemoSidecar(socket string, log io.Writer) (stop func(), err error) {
	c := config.Default()
	c.Socket.Path, c.HTTP.Addr, c.Redis.URL = socket, "", redis.Embedded
	c.Limits.ShutdownGrace = 0
	logger, err := telemetry.NewLog(log, telemetry.LogOptions{Level: "error"})
	if err != nil {
		return nil, err
	}
	a := newApp(&c, origin{}, logger.Logger)
	if err := a.Start(); err != nil {
		logger.Close(lastLines)
		return nil, err
	}
	return func() { a.Stop(); logger.Close(lastLines) }, nil
}

// showDemo runs the demo by clients of the socket.
func showDemo(ctx context.Context, out io.Writer, socket string) error {
	d := &demo{ctx: ctx, socket: socket, w: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	d.say("Coxswain: one sidecar on the embedded store, its clients on %s", socket)
	alice, bob := d.client("alice"), d.client("bob")
	defer d.close(alice, bob)
	if d.err == nil {
		// Until the scripts are loaded, the fail mode would decide about limits.
		if err := untilIs(ctx, probeReady, alice, socket, demoTime); err != nil {
			d.fail(err)
		}
	}
	if d.err == nil {
		d.limit(alice)
		d.lock(alice, bob)
		d.crash(bob)
	}
	switch {
	case d.err != nil:
	case d.wrong > 0:
		d.err = fmt.Errorf("demo: %d of %d answers came out wrong", d.wrong, d.answers)
	default:
		d.say("\nAll %d answers came out as they should.", d.answers)
	}
	return errors.Join(d.w.Flush(), d.err)
}

// demo prints the answers, and counts those that are not as expected.
type demo struct {
	ctx            context.Context
	socket         string
	w              *tabwriter.Writer
	answers, wrong int
	err            error // the first error, which ends the demo
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.w, format+"\n", args...) }

func (d *demo) title(text string, columns ...string) {
	_ = d.w.Flush() // each part has columns of its own; the last flush reports an error such as a broken pipe
	d.say("\n%s", text)
	d.say("  %s", strings.Join(columns, "\t"))
}

// row prints one answer and whether it is the right one.
func (d *demo) row(right bool, cells ...string) {
	d.answers++
	mark := ""
	if !right {
		d.wrong++
		mark = "\t<- WRONG"
	}
	for i, c := range cells {
		cells[i] = api.Printable(c)
	}
	d.say("  %s%s", strings.Join(cells, "\t"), mark)
}

func (d *demo) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("demo: %w", err)
	}
}

func (d *demo) client(name string) *client.Client {
	c, err := client.Dial(d.ctx, client.Options{Socket: d.socket, Client: name, Version: version, FailFast: true})
	if err != nil {
		d.fail(err)
	}
	return c
}

func (d *demo) close(cs ...*client.Client) {
	for _, c := range cs {
		if c != nil {
			_ = c.Close()
		}
	}
}

// limit uses up a limit of three per minute and asks once more.
func (d *demo) limit(c *client.Client) {
	d.title("A limit of 3 per minute for example.com, asked 4 times", "call", "answer", "remaining", "retry after")
	for i := range int64(4) {
		r, err := c.RatelimitAcquire(d.ctx, api.RatelimitParams{
			Key: "example.com", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 3, PeriodMS: 60_000}},
		})
		if err != nil {
			d.fail(err)
			return
		}
		answer, after, right := "allowed", "-", r.Allowed && r.Remaining == 2-i
		if !r.Allowed {
			answer, after = "refused", milli(r.RetryAfterMS).String()
			right = i == 3 && r.RetryAfterMS > 0 && r.RetryAfterMS <= 20_000
		}
		d.row(right, fmt.Sprint(i+1), answer, fmt.Sprint(r.Remaining), after)
	}
}

// lock shows two clients that want the same lock.
func (d *demo) lock(alice, bob *client.Client) {
	d.title("A lock that two clients want", "client", "asks to", "answer")
	first, _ := d.take(alice, "alice", "")
	if first == nil {
		return
	}
	d.take(bob, "bob", "alice")
	if err := first.Release(d.ctx); err != nil {
		d.fail(err)
		return
	}
	d.row(true, "alice", "release it", "released")
	second, _ := d.take(bob, "bob", "")
	if second == nil {
		return
	}
	d.row(second.Fence() > first.Fence(), "", "", "bob's fence is higher than alice's, so what the lock protects can tell who is late")
	if err := second.Release(d.ctx); err != nil {
		d.fail(err)
	}
}

const demoLock = "nightly-crawl"

// take asks once for the lock, which should be free, or held by heldBy.
func (d *demo) take(c *client.Client, who, heldBy string) (*client.Lock, time.Duration) {
	l, err := c.LockAcquire(d.ctx, demoLock, client.LockOptions{TTL: demoTTL})
	var busy *client.BusyError
	switch {
	case err == nil:
		d.row(heldBy == "", who, "take it", fmt.Sprintf("acquired, fence %d", l.Fence()))
		return l, 0
	case errors.As(err, &busy) && busy.HeldBy != nil:
		d.row(heldBy == busy.HeldBy.Client, who, "take it", fmt.Sprintf("busy, %s holds it for up to %v", busy.HeldBy.Client, busy.RetryAfter.Round(time.Second)))
		return nil, busy.RetryAfter
	default:
		d.fail(err)
		return nil, 0
	}
}

func milli(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
