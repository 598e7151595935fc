package rpc

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"
)

// writer writes the replies of a connection. A goroutine with a reply appends it to the
// buffer, and writes the whole buffer if no other goroutine is writing. So a lone reply is
// written by the goroutine that made it, and under load one write carries many. conn.mu
// guards it.
type writer struct {
	// out has the bytes that wait to be written. wire has the bytes of the write that is under
	// way while writing is set; rest of them are left.
	out, wire []byte
	rest      int
	writing   bool
	// stuck closes the connection when the buffer stays full.
	stuck *time.Timer
	// drained is signalled when the buffer is no longer full, and on closing.
	drained *sync.Cond
	// wantRoom are functions to call, once, when there is room for notifications, or on closing.
	wantRoom []func()

	raw syscall.RawConn
	// attempt tries once to write wire. It is made once, because a closure for each write
	// would be an allocation; tried and failed are its results.
	attempt func(fd uintptr) bool
	tried   int
	failed  error
}

const (
	// maxUnwritten is the size in bytes from which a connection's write buffer counts as full.
	maxUnwritten = 256 << 10
	// slowChunk is how much is written at once to a client that is slow, so
	// that its progress shows.
	slowChunk = 64 << 10
)

// newWriter prepares the writer of a conn that no other goroutine uses yet.
func (c *conn) newWriter() error {
	raw, err := c.nc.SyscallConn()
	if err != nil {
		return err
	}
	c.raw = raw
	c.drained = sync.NewCond(&c.mu)
	c.attempt = func(fd uintptr) bool {
		for {
			c.tried, c.failed = syscall.Write(int(fd), c.wire)
			if !errors.Is(c.failed, syscall.EINTR) {
				return true
			}
		}
	}
	return nil
}

// append adds one message to the buffer.
func (c *conn) append(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.appendLocked(message)
}

func (c *conn) appendLocked(message []byte) {
	if c.closed {
		return
	}
	c.out = append(c.out, message...)
	c.weigh()
	if c.full() && c.stuck == nil {
		c.watch()
	}
}

// watch closes the connection if its buffer stays full; the caller holds mu.
func (c *conn) watch() {
	var t *time.Timer
	t = time.AfterFunc(c.server.opts.WriteTimeout, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stuck == t { // otherwise relieve was called while this waited for mu
			c.closeLocked(closedSlowReader)
		}
	})
	c.stuck = t
}

// full reports whether the client leaves too much unread; the caller holds mu.
func (c *conn) full() bool { return len(c.out)+c.rest >= maxUnwritten }

// room waits until the buffer is not full. It returns false if the connection was closed
// meanwhile. It stops the reader as long as the client does not read its replies.
func (c *conn) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full() {
		c.flushLocked()
	}
	for c.full() && !c.closed {
		c.drained.Wait()
	}
	return !c.closed
}

// flush writes the buffer, unless another goroutine is writing.
func (c *conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushLocked()
}

// flushLocked is flush for a caller that holds mu, which it unlocks while it writes. It
// never blocks: another goroutine writes what the socket does not take at once.
func (c *conn) flushLocked() {
	if c.writing {
		return
	}
	c.writing = true
	for len(c.out) > 0 && !c.closed {
		c.swap()
		c.mu.Unlock()
		n, err := c.try()
		c.mu.Lock()
		c.rest -= n
		if err != nil {
			c.closeLocked(closedBroken)
			break
		}
		if c.rest > 0 {
			c.relieve()
			c.server.workers.wg.Go(c.writeSlowly)
			return
		}
	}
	c.writing = false
	c.tellRoom()
	c.shrink()
}

// swap makes the waiting bytes those to be written.
func (c *conn) swap() {
	c.out, c.wire = c.wire[:0], c.out
	c.rest = len(c.wire)
}

// try writes as much of wire as it can at once. Only the goroutine that set writing
// calls it.
func (c *conn) try() (int, error) {
	if err := c.raw.Write(c.attempt); err != nil {
		return 0, err
	}
	if errors.Is(c.failed, syscall.EAGAIN) {
		return 0, nil
	}
	return max(c.tried, 0), c.failed
}

// writeSlowly writes, blocking, what flushLocked could not write at once.
func (c *conn) writeSlowly() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && (c.rest > 0 || len(c.out) > 0) {
		if c.rest == 0 {
			c.swap()
		}
		from := len(c.wire) - c.rest
		chunk := c.wire[from:min(from+slowChunk, len(c.wire))]
		c.mu.Unlock()
		n, err := c.nc.Write(chunk)
		c.mu.Lock()
		c.rest -= n
		if err != nil {
			c.closeLocked(closedBroken)
		}
		c.relieve()
	}
	c.writing = false
	c.rest = 0
	c.shrink()
}

// relieve wakes the reader and stops the timer, because the buffer is no longer full.
func (c *conn) relieve() {
	c.tellRoom()
	if c.full() && !c.closed {
		return
	}
	if c.stuck != nil {
		c.stuck.Stop()
		c.stuck = nil
	}
	c.drained.Broadcast()
}

// shrink drops large buffers.
func (c *conn) shrink() {
	if cap(c.out) > busyBuffer && len(c.out) == 0 {
		c.out = nil
	}
	if cap(c.wire) > busyBuffer {
		c.wire = nil
	}
	if !c.closed {
		c.weigh()
	}
	c.relieve()
	if c.ending && c.idle() {
		c.closeLocked(closedByClient)
	}
}

// The reasons why connections end. Those that the client ends are not counted.
const (
	closedByClient   = "client"
	closedBroken     = "broken"
	closedMalformed  = "malformed"
	closedDuplicate  = "duplicate_msgid"
	closedSlowReader = "slow_reader"
	closedTooMany    = "too_many"
	closedOverBudget = "over_budget"
	closedForbidden  = "forbidden"
	closedShutdown   = "shutdown"
)

// close closes the connection and cancels its calls. Replies that the socket
// takes at once are still sent.
func (c *conn) close(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason != closedByClient && reason != closedBroken {
		c.flushLocked()
	}
	c.closeLocked(reason)
}

func (c *conn) closeLocked(reason string) {
	if c.closed {
		return
	}
	c.closed = true
	if reason != closedByClient && reason != closedBroken {
		c.server.opts.Telemetry.ConnectionClosed(context.Background(), reason) // counted by the time the client sees it
	}
	c.unbuffer()
	_ = c.nc.Close() // this wakes the reader; an error has no consequence
	for _, k := range c.calls {
		k.stop()
	}
	c.relieve()
	switch reason {
	case closedByClient, closedBroken:
		c.log.Debug("connection ended", "reason", reason)
	case closedSlowReader:
		c.log.Warn("a client does not read its replies: closing the connection", "unwritten", len(c.out)+c.rest)
	}
}
