package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// rawConsume consumes with as little work per message as possible: one goroutine and one
// subscription a connection, which acknowledges all messages of a read in one write.
func rawConsume(_ context.Context, run consumption) (tally, error) {
	var (
		all   sync.WaitGroup
		left  atomic.Int64
		conns []net.Conn
		errs  = make(chan error, run.conns())
	)
	left.Store(int64(run.n))
	defer func() {
		for _, c := range conns {
			_ = c.Close() // messages that it did not acknowledge are given back
		}
	}()
	for range run.conns() {
		c, err := net.Dial("unix", run.socket)
		if err != nil {
			return tally{}, err
		}
		conns = append(conns, c)
	}
	consumers := make([]rawConsumer, len(conns))
	for i, c := range conns {
		consumers[i] = rawConsumer{conn: c, run: run, acked: func() {
			if left.Add(-1) == 0 {
				for _, other := range conns {
					_ = other.SetReadDeadline(time.Now()) // a closed connection needs no deadline
				}
			}
		}}
		all.Go(func() {
			if err := consumers[i].consume(); err != nil {
				errs <- fmt.Errorf("connection %d: %w", i, err)
			}
		})
	}
	all.Wait()
	close(errs)
	var (
		sum         tally
		start, last time.Time
	)
	for _, c := range consumers {
		sum.calls += c.done
		if start.IsZero() || !c.first.IsZero() && c.first.Before(start) {
			start = c.first
		}
		if c.last.After(last) {
			last = c.last
		}
	}
	sum.took = last.Sub(start)
	return sum, <-errs
}

// rawConsumer is one connection that consumes.
type rawConsumer struct {
	conn  net.Conn
	run   consumption
	acked func() // called for each acknowledged message

	out  []byte
	next uint16 // the id of the last request
	open int    // requests without an answer
	done int    // messages that were acknowledged
	// first is when the first message came, which starts the measured time; last is when the last
	// one was acknowledged.
	first, last time.Time
}

// consume acknowledges messages until its time is over, and then waits for the answers to the acks.
func (r *rawConsumer) consume() error {
	r.request("stream.subscribe", 3)
	r.out = appendText(appendText(r.out, "stream"), r.run.stream)
	r.out = appendText(appendText(r.out, "group"), groupName)
	n := r.run.share() * prefetch
	r.out = append(appendText(r.out, "prefetch"), 0xcd, byte(n>>8), byte(n))
	if err := r.conn.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	in, have := make([]byte, 1<<18), 0
	for over := false; ; {
		if _, err := r.conn.Write(r.out); err != nil {
			return err
		}
		r.out = r.out[:0]
		if over && r.open == 0 {
			return nil
		}
		n, err := r.conn.Read(in[have:])
		if errors.Is(err, os.ErrDeadlineExceeded) && !over {
			over, err = true, r.conn.SetReadDeadline(time.Now().Add(10*time.Second))
		}
		if err != nil {
			return err
		}
		have += n
		at, err := r.frames(in[:have], !over)
		if err != nil {
			return err
		}
		have = copy(in, in[at:have])
	}
}

// request appends the beginning of a request with so many params, which the caller appends.
func (r *rawConsumer) request(method string, params byte) {
	r.next++
	r.open++
	r.out = append(appendText(append(r.out, 0x94, 0x00, 0xcd, byte(r.next>>8), byte(r.next)), method), 0x91, 0x80|params)
}

// frames handles the whole frames of b and returns how many bytes they have.
func (r *rawConsumer) frames(b []byte, more bool) (at int, err error) {
	for {
		rest, err := skip(b[at:], 1)
		if errors.Is(err, errShort) {
			return at, nil
		}
		frame := b[at : len(b)-len(rest)]
		at += len(frame)
		if err := r.frame(frame, more); err != nil {
			return at, err
		}
	}
}

var (
	message = append([]byte{0x93, 0x02}, appendText(nil, "stream.message")...)
	acked   = isTrue("acked")
)

// frame handles one frame. A message is acknowledged only if more is true.
func (r *rawConsumer) frame(frame []byte, more bool) error {
	switch {
	case bytes.HasPrefix(frame, message):
		if !more {
			return nil
		}
		if r.first.IsZero() {
			r.first = time.Now()
			if err := r.conn.SetReadDeadline(r.first.Add(r.run.d)); err != nil {
				return err
			}
		}
		id := textOf(frame, "id")
		r.request("stream.ack", 3)
		r.out = appendText(appendText(r.out, "stream"), r.run.stream)
		r.out = appendText(appendText(r.out, "group"), groupName)
		r.out = appendText(appendText(r.out, "id"), id)
		return nil
	case bytes.HasSuffix(frame, acked):
		r.done++
		r.last = time.Now()
		r.acked()
	case !bytes.Contains(frame, []byte("subscription")): // that of the subscription
		return fmt.Errorf("unexpected frame for a consumer: %q", frame)
	}
	r.open--
	return nil
}
