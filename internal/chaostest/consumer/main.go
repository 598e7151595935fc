// Command consumer is a consumer of a group of a stream until it is ended (SIGINT) or
// killed. It writes each step to its standard output before it continues. It is for tests
// only.
//
// Its lines are, with times in nanoseconds since -start:
//
//	begin N CALL BEGIN ATTEMPT MESSAGE ID  it begins to work on its N-th message, which it asked for at CALL
//	end N KIND CALL                        it is about to send the ack or the nack of that message
//	told N OUTCOME RETURN                  the ack or nack was answered
//	left FROM TILL                         in this time it may have been sent messages on which it has not begun to work
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// subscribed is how long a subscription lasts. It is short, so that subscriptions end during the run.
	subscribed = 2 * time.Second
	again      = 20 * time.Millisecond
	atOnce     = 4
	prefetch   = 8
	mostWork   = 4 * time.Millisecond
	mostDelay  = 200 * time.Millisecond
)

type consumer struct {
	stream, group string
	deliveries    int64
	visibility    time.Duration
	c             *client.Client
	start         time.Time     // of this process
	since         time.Duration // from -start to that

	mu      sync.Mutex // guards handled, and the order of its lines
	handled int64
}

var (
	errPoison = errors.New("poison")
	errFails  = errors.New("it fails for once")
)

func main() {
	var x consumer
	socket := flag.String("socket", "", "the sidecar's `path`")
	name := flag.String("name", "", "what it is called")
	push := flag.Bool("push", false, "messages are sent to it; else it fetches them")
	start := flag.Int64("start", 0, "when time began, Unix `nanoseconds`")
	flag.StringVar(&x.stream, "stream", "", "the stream")
	flag.StringVar(&x.group, "group", "", "the group")
	flag.Int64Var(&x.deliveries, "deliveries", 0, "max_deliveries")
	flag.DurationVar(&x.visibility, "visibility", 0, "the visibility timeout")
	flag.Parse()
	x.start = time.Now()
	x.since = time.Duration(x.start.UnixNano() - *start)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for x.c == nil && ctx.Err() == nil {
		c, err := client.Dial(ctx, client.Options{Socket: *socket, Client: "chaos", Instance: *name})
		if err == nil {
			x.c = c
		}
		tell(err)
	}
	for ctx.Err() == nil {
		var err error
		if *push {
			err = x.push(ctx)
		} else {
			err = x.pull(ctx)
		}
		if tell(err) {
			time.Sleep(again)
		}
	}
}

// tell writes an error unless it is the end of a time limit.
func tell(err error) bool {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	fmt.Fprintln(os.Stderr, err)
	return true
}

func (x *consumer) now() time.Duration { return x.since + time.Since(x.start) }

func line(format string, args ...any) {
	if _, err := fmt.Fprintf(os.Stdout, format+"\n", args...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) // a step that is not in the journal must not be done
	}
}

// push subscribes to the group for a while.
func (x *consumer) push(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, subscribed)
	defer cancel()
	call := x.now()
	leaving := make(chan time.Duration, 1)
	context.AfterFunc(ctx, func() { leaving <- x.now() })
	o := client.StreamOptions{Concurrency: atOnce, Prefetch: prefetch, MaxDeliveries: int(x.deliveries), Visibility: x.visibility}
	err := x.c.StreamSubscribe(ctx, x.stream, x.group, o, func(ctx context.Context, m api.StreamMessage) error {
		n, fails := x.begin(call, m)
		if fails != nil {
			line("end %d nack %d", n, x.now())
			return &client.NackError{Err: fails, Delay: delay()}
		}
		// The client acknowledges the message again when this function returns, but does not pass the answer on.
		line("end %d ack %d", n, x.now())
		x.ack(ctx, n, m)
		return nil
	})
	cancel()
	line("left %d %d", <-leaving, x.now())
	return err
}

// pull takes some messages, and waits for the first of them.
func (x *consumer) pull(ctx context.Context) error {
	call := x.now()
	messages, err := x.c.StreamFetch(ctx, api.StreamFetchParams{
		Stream: x.stream, Group: x.group, Count: prefetch, WaitMS: again.Milliseconds() * 10, MaxDeliveries: x.deliveries,
		VisibilityMS: x.visibility.Milliseconds(),
	})
	if err != nil {
		line("left %d %d", call, x.now())
		return err
	}
	ctx = context.WithoutCancel(ctx) // all fetched messages are handled
	for _, m := range messages {
		n, fails := x.begin(call, m)
		if fails == nil {
			line("end %d ack %d", n, x.now())
			x.ack(ctx, n, m)
			continue
		}
		line("end %d nack %d", n, x.now())
		x.settle(ctx, n, func() (string, error) {
			r, err := x.c.StreamNack(ctx, api.StreamNackParams{
				Stream: x.stream, Group: x.group, ID: m.ID, DelayMS: delay().Milliseconds(), Reason: fails.Error(),
			})
			return outcome(r.Nacked, "nacked"), err
		})
	}
	return nil
}

// begin works on a message. It returns the message's number in the journal, and an error if the handling failed.
func (x *consumer) begin(call time.Duration, m api.StreamMessage) (n int64, fails error) {
	id := strings.Trim(string(m.Body), "<>")
	x.mu.Lock()
	x.handled++
	n = x.handled
	line("begin %d %d %d %d %s %s", n, call, x.now(), m.Attempt, m.ID, id)
	x.mu.Unlock()
	time.Sleep(rand.N(mostWork))
	switch {
	case strings.HasSuffix(id, "!"):
		return n, errPoison
	case m.Attempt <= 2 && rand.IntN(100) == 0:
		return n, errFails
	}
	return n, nil
}

func delay() time.Duration { return time.Millisecond + rand.N(mostDelay) }

func (x *consumer) ack(ctx context.Context, n int64, m api.StreamMessage) {
	x.settle(ctx, n, func() (string, error) {
		acked, err := x.c.StreamAck(ctx, api.StreamMessageParams{Stream: x.stream, Group: x.group, ID: m.ID})
		return outcome(acked, "acked"), err
	})
}

func outcome(yes bool, name string) string {
	if yes {
		return name
	}
	return "expired"
}

// settle repeats a call until it has an answer, or ctx ends.
func (x *consumer) settle(ctx context.Context, n int64, call func() (string, error)) {
	for ctx.Err() == nil {
		o, err := call()
		if err == nil {
			line("told %d %s %d", n, o, x.now())
			return
		}
		tell(err)
		time.Sleep(again)
	}
}
