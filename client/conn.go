package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// maxQueueBytes bounds the bytes that wait while the sidecar does not read. The frames
	// of callers that gave up stay among them.
	maxQueueBytes = 8 << 20
	// writeTimeout is how long the sidecar may read nothing before the connection is closed.
	writeTimeout = 10 * time.Second
	// readBuffer is the size of the read buffer while frames are small.
	readBuffer = 32 << 10
)

// conn is one connection, which is one session of the sidecar. It has one reading
// goroutine. A caller writes its own frame, and the frames that other callers add
// meanwhile.
type conn struct {
	c    *Client
	slot *slot
	nc   net.Conn
	try  func([]byte) (int, error) // writes what goes without blocking
	dead chan struct{}             // closed by fail
	wg   sync.WaitGroup            // the reader, and the writer of a backlog
	dec  *codec.Decoder            // the reader's, for notifications

	// Set by hello, before others see the connection.
	session  string
	maxFrame int           // 0 = not known
	inflight chan struct{} // has room for the calls that the sidecar runs at once; nil = not known

	mu      sync.Mutex // guards what follows
	err     error      // why it is dead
	lastID  uint32
	pending map[uint32]*call
	held    map[string]*held // by token
	out     []byte           // frames to write
	spare   []byte           // the buffer that was written last
	writing bool             // a goroutine is writing, and will write out as well
}

func newConn(c *Client, s *slot, nc net.Conn) *conn {
	return &conn{
		c: c, slot: s, nc: nc, try: nonBlocking(nc),
		dec:     codec.NewDecoderBytes([]byte{codeNil}, handle),
		dead:    make(chan struct{}),
		pending: make(map[uint32]*call),
		held:    make(map[string]*held),
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
	pending, held := cn.pending, cn.held
	cn.pending, cn.held, cn.out = nil, nil, nil
	cn.mu.Unlock()

	_ = cn.nc.Close() // an error changes nothing: the connection is not used any more
	close(cn.dead)
	// Leases before calls: the caller of an acquisition binds its lease to the next
	// connection as soon as the call ends.
	for _, lk := range held {
		_ = lk.lose("the connection ended: " + err.Error())
	}
	for _, cl := range pending {
		if cl.late == nil {
			cl.err = &brokenError{err, true}
			cl.done <- struct{}{}
		}
	}
}

// roundTrip sends the call and waits for its reply, until ctx or expired ends.
func (cn *conn) roundTrip(ctx context.Context, cl *call, left time.Duration, expired <-chan time.Time) error {
	if cn.inflight != nil && cl.wait == 0 { // those that wait are counted apart
		if err := cn.enter(ctx, expired); err != nil {
			return err
		}
		defer func() { <-cn.inflight }()
	}
	id, err := cn.submit(cl, left)
	if err != nil {
		return err
	}
	select {
	case <-cl.done:
		return cl.err
	case <-ctx.Done():
		err = ended(ctx.Err())
	case <-expired:
		err = ended(context.DeadlineExceeded)
	}
	if cn.abandon(id, cl) {
		return err
	}
	// The reply arrived at the same moment, and is better than an error.
	<-cl.done
	return cl.err
}

// ended gives the end of the caller's context the code that the sidecar would use.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", api.DeadlineExceeded, err)
	}
	return fmt.Errorf("%w: %w", api.Cancelled, err)
}

// enter waits until the sidecar can run one more call. It would answer OVERLOADED to a call
// beyond its limit.
func (cn *conn) enter(ctx context.Context, expired <-chan time.Time) error {
	select {
	case cn.inflight <- struct{}{}:
		return nil
	default:
	}
	select {
	case cn.inflight <- struct{}{}:
		return nil
	case <-cn.dead:
		return &brokenError{cn.err, false}
	case <-ctx.Done():
		return ended(ctx.Err())
	case <-expired:
		return ended(context.DeadlineExceeded)
	}
}

// submit gives the call an id and writes its frame, or leaves that to the current writer.
func (cn *conn) submit(cl *call, left time.Duration) (uint32, error) {
	cn.mu.Lock()
	if err := cn.err; err != nil {
		cn.mu.Unlock()
		return 0, &brokenError{err, false}
	}
	if len(cn.out) > maxQueueBytes {
		cn.mu.Unlock()
		return 0, &api.Error{Code: api.Overloaded, Retryable: true, Message: "the sidecar does not read its socket, and 8 MiB wait for it"}
	}
	id := cn.id()
	start := len(cn.out)
	cn.out = cl.append(cn.out, id, left)
	if n := len(cn.out) - start; cn.maxFrame > 0 && n > cn.maxFrame {
		cn.out = cn.out[:start]
		cn.mu.Unlock()
		// The sidecar would close the connection, and with it end the calls of others.
		return 0, &api.Error{Code: api.InvalidArgument, Message: fmt.Sprintf(
			"the call takes %d bytes and the sidecar takes %d: send less, or raise limits.max_frame_bytes", n, cn.maxFrame)}
	}
	cn.pending[id], cl.err = cl, nil
	if lk := cl.lease; lk != nil {
		lk.bind(cn)
		if lk.session && !lk.kind.named {
			cn.held[lk.token] = lk
		}
	}
	cn.flush()
	return id, nil
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

// abandon cancels a call whose caller stops waiting. It reports false if the reply has
// arrived.
func (cn *conn) abandon(id uint32, cl *call) bool {
	cn.mu.Lock()
	if cn.pending[id] != cl {
		cn.mu.Unlock()
		return false
	}
	delete(cn.pending, id)
	if cl.lease != nil {
		// The grant may be on its way. It is given back when it arrives.
		delete(cn.held, cl.lease.token)
		cn.pending[id] = &call{late: cl.lease}
	}
	cn.out = appendCancel(cn.out, id)
	cn.flush()
	return true
}

// notify sends a notification, which has no reply.
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
	cn.writing = false
	cn.flush()
}

// read takes frames from the connection until it ends.
func (cn *conn) read() {
	var (
		buf        = make([]byte, readBuffer)
		start, end int
		sk         skim
	)
	for {
		n, err := cn.nc.Read(buf[end:])
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the sidecar closed it")
			}
			cn.fail(err)
			return
		}
		end += n
		for start < end {
			n, err := sk.next(buf[start:end])
			if err == nil && n > 0 {
				err = cn.take(buf[start : start+n])
			}
			if err != nil {
				cn.fail(err)
				return
			}
			if n == 0 {
				break
			}
			start += n
		}
		buf, end = roomy(buf, start, end)
		start = 0
	}
}

// roomy moves buf[start:end] to the front of a buffer with free space at its end: the same
// one, a larger one for a long frame, or a small one after a long frame.
func roomy(buf []byte, start, end int) ([]byte, int) {
	rest := buf[start:end]
	switch {
	case len(rest) == len(buf):
		grown := make([]byte, 2*len(buf))
		return grown, copy(grown, rest)
	case len(rest) == 0 && len(buf) > maxKept:
		return make([]byte, readBuffer), 0
	case start == 0:
		return buf, end
	default:
		return buf, copy(buf, rest)
	}
}

// take handles one whole frame, which is valid only until it returns.
func (cn *conn) take(frame []byte) error {
	r := cursor{frame}
	n, ok := r.array()
	if !ok {
		return errMalformed
	}
	switch kind, ok := r.integer(); {
	case ok && kind == frameResponse && n == 4:
		id, ok := r.integer()
		if !ok {
			return errMalformed
		}
		cn.deliver(id, r.b)
		return nil
	case ok && kind == frameNotification && n == 3:
		method, ok := r.text()
		if !ok {
			return errMalformed
		}
		return cn.hear(method, r.b)
	default:
		return errMalformed
	}
}

// deliver passes a reply to its caller, which decodes it. So decoding does not delay the
// reader.
func (cn *conn) deliver(id uint64, reply []byte) {
	cn.mu.Lock()
	cl, ok := cn.pending[uint32(id)]
	if !ok {
		cn.mu.Unlock() // the caller has gone
		return
	}
	delete(cn.pending, uint32(id))
	if cl.late != nil {
		cn.out = append(cn.out, cl.late.lateFrame(cn.dec, reply)...)
		cn.flush()
		return
	}
	cn.named(cl.lease, reply)
	cn.mu.Unlock()
	cl.reply = append(cl.reply[:0], reply...)
	cl.done <- struct{}{}
}
