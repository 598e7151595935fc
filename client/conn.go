package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// maxQueueBytes bounds the bytes that wait to be written while the sidecar does not read,
	// including the frames of callers that gave up.
	maxQueueBytes = 8 << 20
	// writeTimeout is how long a write may be blocked, because the sidecar does not read, before the connection is closed.
	writeTimeout = 10 * time.Second
)

// conn is one connection, which is one session of the sidecar. A caller writes its own
// frame, and the frames that other callers add meanwhile. reader.go decides which goroutine
// reads, and sweep.go ends calls that get no reply.
type conn struct {
	c    *Client
	slot *slot
	nc   net.Conn
	try  func([]byte) (int, error) // writes as much as it can without blocking
	dead chan struct{}             // closed by fail
	wg   sync.WaitGroup            // the background reader, and the writer of a backlog

	session string // set by hello, before the connection is published

	inbox               // used only by the goroutine that reads
	wake  chan struct{} // makes the background reader read; has a capacity of 1

	mu       sync.Mutex // guards what follows
	err      error      // why it is dead
	maxFrame int        // 0 = not known
	lastID   uint32
	pending  map[uint32]*call
	held     map[string]*held // by token
	subs     subscriptions

	running    int     // how many of pending the sidecar counts against its limit
	maxRunning int     // that limit; 0 = not known
	queue      []*call // the calls that wait until the sidecar can run one more

	out     []byte // frames to write
	spare   []byte // the buffer that was written last
	writing bool   // a goroutine is writing or about to write, and will write out too
	gather  int    // how many more frames the reader waits for before it writes them; see pass

	turns

	sweeper *time.Timer   // runs sweep; nil until the first call
	sweepAt time.Duration // when the sweeper runs, by the client's clock; 0 = it does not
}

func newConn(c *Client, s *slot, nc net.Conn) *conn {
	return &conn{
		c: c, slot: s, nc: nc, try: nonBlocking(nc),
		inbox:   newInbox(),
		wake:    make(chan struct{}, 1),
		dead:    make(chan struct{}),
		pending: make(map[uint32]*call),
		held:    make(map[string]*held),
		turns:   turns{by: inBackground},
	}
}

// brokenError: the connection ended before the reply came.
type brokenError struct {
	err  error
	sent bool // the call may have reached the sidecar
}

func (e *brokenError) Error() string { return fmt.Sprintf("connection to the sidecar lost: %v", e.err) }
func (e *brokenError) Unwrap() error { return e.err }

// publish makes the connection available for calls. It reports false if it is dead already.
func (cn *conn) publish() bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.err != nil {
		return false
	}
	cn.slot.up.Store(cn)
	return true
}

// fail closes the connection: its calls end with a brokenError, and its leases are lost.
func (cn *conn) fail(err error) {
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return
	}
	cn.err = err
	// The slot is cleared under the same lock: a caller that finds the connection dead must
	// not get it again.
	cn.slot.up.CompareAndSwap(cn, nil)
	pending, queue, held, subs := cn.pending, cn.queue, cn.held, cn.subs.by
	cn.subs = subscriptions{}
	cn.pending, cn.queue, cn.held, cn.out = nil, nil, nil, nil
	if cn.sweeper != nil {
		cn.sweeper.Stop()
	}
	cn.mu.Unlock()

	_ = cn.nc.Close() // its error does not matter: the connection is no longer used
	close(cn.dead)
	// Leases are ended before calls: the caller of an acquisition binds its lease to the next
	// connection as soon as the call ends.
	for _, lk := range held {
		_ = lk.lose("the connection ended: " + err.Error())
	}
	for _, s := range subs {
		s.ended(err)
	}
	for _, cl := range pending {
		if cl.late == nil && !cl.gone {
			cl.end(&brokenError{err, true})
		}
	}
	for _, cl := range queue {
		cl.end(&brokenError{err, false})
	}
}

// roundTrip sends the call and waits for its reply, until ctx or the call's time ends.
func (cn *conn) roundTrip(ctx context.Context, cl *call, now time.Duration) error {
	reads, err := cn.submit(ctx, cl, now)
	if err != nil {
		return err
	}
	if reads && cn.lead(cl) {
		return cl.err
	}
	select {
	case <-cl.done:
		return cl.err
	case <-ctx.Done():
	}
	if cn.abandon(cl) {
		return ended(ctx.Err())
	}
	// The reply arrived at the same moment and is returned instead of the error.
	<-cl.done
	return cl.err
}

// ended adds to the error of the caller's context the code that the sidecar would use.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", api.DeadlineExceeded, err)
	}
	return fmt.Errorf("%w: %w", api.Cancelled, err)
}

// submit sends the call, or queues it if the sidecar cannot run it yet. It reports whether
// the caller must read.
func (cn *conn) submit(ctx context.Context, cl *call, now time.Duration) (reads bool, err error) {
	cn.mu.Lock()
	if err := cn.err; err != nil {
		cn.mu.Unlock()
		return false, &brokenError{err, false}
	}
	cl.err = nil
	if cl.wait == 0 && cn.maxRunning > 0 && cn.running >= cn.maxRunning { // waiting calls have a limit of their own
		// The sidecar would answer OVERLOADED.
		cl.queued, cn.queue = true, append(cn.queue, cl)
		cn.sweepBy(cl.deadline, now)
		cn.mu.Unlock()
		return false, nil
	}
	if err := cn.send(cl, now); err != nil {
		cn.mu.Unlock()
		return false, err
	}
	cn.sweepBy(cl.deadline, now)
	reads = cn.takeTurn(ctx, cl)
	if cn.gather > 0 {
		cn.gather--
		if cn.gather == 0 {
			cn.writeOut() // this was the last expected frame, so the reader need not write it
			return reads, nil
		}
	}
	cn.flush()
	return reads, nil
}

// send gives the call an id and adds its frame to those to write.
func (cn *conn) send(cl *call, now time.Duration) error {
	if len(cn.out) > maxQueueBytes {
		return &api.Error{Code: api.Overloaded, Retryable: true, Message: "the sidecar does not read its socket, and 8 MiB wait to be written"}
	}
	cl.msgid = cn.id()
	start := len(cn.out)
	cn.out = cl.append(cn.out, cl.msgid, cl.deadline-now)
	if n := len(cn.out) - start; cn.maxFrame > 0 && n > cn.maxFrame {
		cn.out = cn.out[:start]
		// The sidecar would close the connection, and so end the calls of other callers.
		return &api.Error{Code: api.InvalidArgument, Message: fmt.Sprintf(
			"the call has %d bytes and the sidecar accepts %d: send less, or raise limits.max_frame_bytes", n, cn.maxFrame)}
	}
	cn.pending[cl.msgid] = cl
	if cl.counts = cl.wait == 0; cl.counts {
		cn.running++
	}
	if cl.opens != nil {
		cn.subs.unanswered++
	}
	if lk := cl.lease; lk != nil {
		lk.bind(cn)
		if lk.session && !lk.kind.named {
			cn.held[lk.token] = lk
		}
	}
	return nil
}

// id returns the next msgid that no call in flight has.
func (cn *conn) id() uint32 {
	for {
		cn.lastID++
		if _, taken := cn.pending[cn.lastID]; !taken {
			return cn.lastID
		}
	}
}

// forget removes a call from those in flight.
func (cn *conn) forget(cl *call) {
	delete(cn.pending, cl.msgid)
	if cl.counts {
		cn.running--
	}
}

// admit sends the calls that the sidecar can run now, and adds those that cannot be sent
// to the ended ones.
func (cn *conn) admit(ended *calls) {
	for len(cn.queue) > 0 && cn.running < cn.maxRunning {
		cl := cn.queue[0]
		cn.queue[0] = nil
		cn.queue = cn.queue[1:]
		cl.queued = false
		if err := cn.send(cl, cn.c.now()); err != nil {
			cl.err = err
			ended.add(cl)
		}
	}
}

// calls is a list of calls that have ended and whose callers are not woken yet.
type calls struct {
	first, last *call
	n           int
}

func (l *calls) add(cl *call) {
	if l.n++; l.first == nil {
		l.first = cl
	} else {
		l.last.next = cl
	}
	l.last = cl
}

// wake wakes the callers, to whom their calls belong from then on.
func (l *calls) wake() {
	for cl := l.first; cl != nil; {
		next := cl.next
		cl.next = nil
		cl.done <- struct{}{}
		cl = next
	}
}

// end wakes the caller of a call that has failed.
func (cl *call) end(err error) {
	cl.err = err
	cl.done <- struct{}{}
}

// notify sends a notification.
func (cn *conn) notify(frame []byte) {
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return
	}
	cn.out = append(cn.out, frame...)
	cn.flush()
}

// flush writes cn.out unless another goroutine is writing. It is called with cn.mu held and
// releases it.
func (cn *conn) flush() {
	if cn.writing {
		cn.mu.Unlock()
		return
	}
	cn.writing = true
	cn.writeOut()
}

// writeOut is flush for the goroutine that has set cn.writing.
func (cn *conn) writeOut() {
	for len(cn.out) > 0 {
		b := cn.out
		cn.out, cn.spare = cn.spare[:0], nil
		cn.mu.Unlock()
		n, err := cn.try(b)
		if err != nil {
			cn.fail(fmt.Errorf("write: %w", err))
			return
		}
		cn.mu.Lock()
		if n < len(b) {
			// The sidecar reads slowly. A caller must not block here, because its context may
			// end first. After fail no goroutine is started, because nothing would wait for it.
			if cn.err == nil {
				cn.wg.Go(func() { cn.drain(b, n) })
			}
			cn.mu.Unlock()
			return
		}
		if cap(b) <= maxKept {
			cn.spare = b
		}
	}
	cn.writing = false
	cn.mu.Unlock()
}

// maxKept is the largest buffer that is kept for reuse.
const maxKept = 256 << 10

// drain writes the rest of b, blocking, and then the frames that were added meanwhile.
func (cn *conn) drain(b []byte, n int) {
	_ = cn.nc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a closed connection fails the write
	if _, err := cn.nc.Write(b[n:]); err != nil {
		cn.fail(fmt.Errorf("write: %w", err))
		return
	}
	_ = cn.nc.SetWriteDeadline(time.Time{})
	cn.mu.Lock()
	cn.writeOut()
}
