package rpc

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// A conn is the connection of one client. One goroutine at a time reads it, and this
// role moves between goroutines: a goroutine that has read a call that needs Redis
// gives the role away and runs the call itself, so that a lone call needs no hand-off
// between reading it, running its script and sending its reply.
type conn struct {
	server  *Server
	nc      *net.UnixConn
	log     *slog.Logger
	uid     int
	since   time.Time
	session *coord.Session
	// subscriber sends the client events, once it has subscribed to them.
	subscriber *coord.Subscriber

	// errorsAsMap is whether session.hello asked for errors as maps.
	errorsAsMap atomic.Bool
	// toldDraining reports that session.draining was sent.
	toldDraining atomic.Bool

	// Only the goroutine that reads uses the following.
	buf     []byte // buf[r:w] was read and is not handled yet
	r, w    int
	read    int64 // bytes of all frames before buf[r]
	skimmer skimmer
	unsent  *call // the last call that was read, until a goroutine has it

	mu sync.Mutex // guards what follows
	// calls are the requests in flight, by msgid.
	calls   map[integer]*call
	running [classes]int // the calls in flight by class
	order   order        // of the calls with the same names
	untold  int64        // events that were dropped since the last one that was sent
	closed  bool
	// calling and buffered are what it holds of the server's budget for calls and for buffers,
	// and readBytes and writeBytes are the sizes of its buffers.
	calling, buffered     account
	readBytes, writeBytes int64
	// ending: the client sends nothing more, and waits for the outstanding replies.
	ending bool
	// answering counts the calls that have ended and whose reply is not in the buffer yet.
	answering int
	writer
}

// The sizes of a connection's read buffer: that of an idle connection, that of a busy
// one, and how far it may exceed the largest frame.
const (
	smallBuffer = 4 << 10
	busyBuffer  = 16 << 10
	spareBuffer = 16
)

// serve reads until the connection ends, or until it has a call to run: then another
// goroutine goes on reading, and serve returns the call.
func (c *conn) serve() *call {
	for {
		last, reason := c.frames()
		c.flush()
		switch {
		case last == nil:
		case reason != "":
			c.server.workers.submit(last)
		case c.server.workers.lead(c, last):
			return last
		}
		if reason == "" {
			reason = c.fill()
		}
		if reason != "" {
			if reason == closedByClient {
				c.linger()
			}
			c.close(reason)
			c.end()
			return nil
		}
	}
}

// frames handles every complete frame of the buffer. It returns the last of the
// calls that need a goroutine, and the reason if the connection must be closed.
func (c *conn) frames() (last *call, reason string) {
	reason = c.takeAll()
	last, c.unsent = c.unsent, nil
	return last, reason
}

// takeAll handles every complete frame, and leaves the last call that needs a goroutine in unsent.
func (c *conn) takeAll() string {
	now := time.Now()
	for c.r < c.w {
		whole, bad := c.skimmer.skim(c.buf[c.r:c.w])
		if bad != nil {
			return c.malformed(bad.reason, bad.offset)
		}
		if !whole {
			break
		}
		f, fault := c.skimmer.envelope(c.buf[c.r:c.w])
		if fault != "" && !f.request() {
			return c.malformed(fault, 0)
		}
		k, reason := c.take(f, fault, now)
		if reason != "" {
			return reason
		}
		c.r += c.skimmer.pos
		c.read += int64(c.skimmer.pos)
		c.skimmer.reset()
		if k != nil {
			if c.unsent != nil {
				c.server.workers.submit(c.unsent)
			}
			c.unsent = k
		}
		if !c.room() {
			return closedSlowReader
		}
	}
	return ""
}

// malformed logs bytes that are not a frame.
func (c *conn) malformed(reason string, offset int) string {
	from := min(c.r+offset, c.w)
	c.log.Warn("malformed frame: closing the connection", "reason", reason,
		"offset", c.read+int64(offset), "bytes", hex.EncodeToString(c.buf[from:min(from+16, c.w)]))
	return closedMalformed
}

// fill makes room and reads more bytes. It returns the reason if no more can be read.
func (c *conn) fill() string {
	if reason := c.makeRoom(); reason != "" {
		return reason
	}
	n, err := c.nc.Read(c.buf[c.w:])
	c.w += n
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.EOF):
		return closedByClient
	default:
		return closedBroken
	}
}

// makeRoom grows the buffer by what was received, never by a declared length, and
// replaces a large one by a small one when it is empty. It returns the reason if the
// connection must be closed.
func (c *conn) makeRoom() string {
	size := len(c.buf)
	switch full := c.w == size; {
	case c.r == c.w && size > busyBuffer:
		size = smallBuffer
	case c.r == c.w && full:
		size = busyBuffer
	case c.r == c.w:
		c.r, c.w = 0, 0
		return ""
	case !full:
		return ""
	case c.r < size/2:
		size = max(size, min(2*size, c.skimmer.maxBytes+spareBuffer))
	}
	to := c.buf
	if size != len(c.buf) {
		if reason := c.resize(len(c.buf), size); reason != "" {
			return reason
		}
		to = make([]byte, size)
	}
	c.w = copy(to, c.buf[c.r:c.w])
	c.r = 0
	c.buf = to
	return ""
}

// take handles one frame. It returns the call if that needs a goroutine, and the
// reason if the connection must be closed.
func (c *conn) take(f frame, fault string, now time.Time) (*call, string) {
	if f.request() && c.inFlight(f.id) {
		c.log.Warn("duplicate msgid in flight: closing the connection, because the replies could not be distinguished",
			"msgid", hex.EncodeToString(f.idBytes))
		return nil, closedDuplicate
	}
	if fault != "" {
		c.refuse(f, unknownMethod, &api.Error{Code: api.InvalidRequest, Message: fault}, now)
		return nil, ""
	}
	e := c.server.methods.find(f.method)
	if e == nil {
		c.refuse(f, unknownMethod, c.server.methods.notFound(f.method), now)
		return nil, ""
	}
	if e.notice != nil {
		c.notice(e, f, now)
		return nil, ""
	}
	k := e.open()
	k.conn, k.started, k.size = c, now, len(f.params)
	k.id, k.idLen = f.id, copy(k.idBytes[:], f.idBytes)
	if err := k.prepare(f.params); err != nil {
		c.answer(k, err, false)
		return nil, ""
	}
	if e.instant {
		c.answer(k, k.invoke(context.Background()), false)
		c.tellDraining() // because the call may have subscribed
		return nil, ""
	}
	last := c.unsent == nil && c.r+c.skimmer.pos == c.w
	return c.register(k, last), ""
}

// prepare checks and decodes a call.
func (k *call) prepare(params []byte) error {
	if err := k.allowed(); err != nil {
		return err
	}
	if m := k.body.decode(params); m != nil {
		return m.wire()
	}
	return nil
}

// notice runs a method that exists only as a notification.
func (c *conn) notice(e *entry, f frame, now time.Time) {
	if f.request() {
		c.refuse(f, e.Name, &api.Error{Code: api.MethodNotFound, Message: fmt.Sprintf(
			"%s: the method exists only as a notification: [2, %q, params]", e.Name, e.Name)}, now)
		return
	}
	code := codeOK
	if !e.notice(c, f.params) {
		code = string(api.InvalidArgument)
		c.server.opts.Telemetry.NotificationDropped(context.Background())
	}
	c.record(context.Background(), e.Name, nil, code, time.Since(now))
}

// refuse answers a frame that is not a call of a known method.
func (c *conn) refuse(f frame, method string, e *api.Error, now time.Time) {
	if !f.request() {
		c.server.opts.Telemetry.NotificationDropped(context.Background())
		return
	}
	c.record(context.Background(), method, nil, string(e.Code), time.Since(now))
	b := append([]byte{0x94, 1}, f.idBytes...)
	c.append(append(appendError(b, e, c.errorsAsMap.Load()), 0xc0))
}

// unknownMethod is the metric label of all unknown method names.
const unknownMethod = "unknown"

// register counts a call as in flight. It returns nil if the call was refused, is on the
// direct path, or runs here or on a goroutine of its own. last reports that this is the
// only call that was read and needs Redis.
func (c *conn) register(k *call, last bool) *call {
	k.class = k.classify()
	direct := k.entry.direct && k.request() && k.class != classWaiting
	if !direct {
		k.arm()
	}
	c.mu.Lock()
	if full := c.admit(k); full != nil {
		c.mu.Unlock()
		c.refuseFull(k, full)
		return nil
	}
	c.line(k)
	k.state = stateQueued
	if k.request() {
		c.calls[k.id] = k
	}
	c.mu.Unlock()
	if direct {
		if c.ask(k, last) {
			return nil
		}
		c.mu.Lock()
		k.arm()
		c.mu.Unlock()
	}
	if k.class == classWaiting {
		c.handOver()
		c.server.workers.apart(k)
		return nil
	}
	return k
}

// refuseFull answers a call beyond the limits. A notification is nevertheless run, on this
// goroutine.
func (c *conn) refuseFull(k *call, full error) {
	err := full
	if !k.request() {
		err = c.invokeHere(k)
		k.cancel()
	} else if k.cancel != nil {
		k.cancel()
	}
	c.answer(k, err, false)
}

// handOver gives the last call that was read to another goroutine: a call that runs
// elsewhere may have to wait for it.
func (c *conn) handOver() {
	if last := c.unsent; last != nil {
		c.unsent = nil
		c.server.workers.submit(last)
	}
}

// invokeHere runs a notification beyond the limits, because what it gives back must not
// be lost. Until it has ended, the connection is not read.
func (c *conn) invokeHere(k *call) error {
	c.handOver()
	c.mu.Lock()
	c.line(k)
	c.mu.Unlock()
	err := k.invokeInTurn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unline(k)
	return err
}

// begin marks a queued call as running. It returns false if the call was already answered.
func (c *conn) begin(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.state == stateAnswered {
		return false
	}
	k.state = stateRunning
	return true
}

// inFlight reports whether a request with this msgid is in flight.
func (c *conn) inFlight(id integer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	return ok
}

// leave removes a call from those in flight, and reports whether its client had cancelled
// it; the caller holds mu.
func (c *conn) leave(k *call) bool {
	if k.request() {
		delete(c.calls, k.id)
	}
	c.discharge(k)
	c.unline(k)
	return k.cancelled
}

// finish answers a call that was registered, and sends the reply.
func (c *conn) finish(k *call, err error) {
	c.mu.Lock()
	cancelled := c.leave(k)
	if err == nil {
		c.appendLocked(k.out) // empty for a notification
		c.flushLocked()
		c.mu.Unlock()
		if k.after != nil {
			k.after()
		}
		k.end(codeOK)
		c.tellDraining()
		return
	}
	c.answering++
	c.mu.Unlock()
	c.answer(k, err, cancelled)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering--
	c.flushLocked()
}

// answer appends the reply of a call to the buffer. It is sent together with the replies of
// the other frames that were read with it.
func (c *conn) answer(k *call, err error, cancelled bool) {
	code := codeOK
	if err != nil {
		code = k.fail(err, cancelled)
		if !k.request() {
			c.server.opts.Telemetry.NotificationDropped(context.Background())
		}
	}
	c.append(k.out)
	k.end(code)
}
