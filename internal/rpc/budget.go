package rpc

import (
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The bounds of one connection do not bound what all of them take together, and
// the kernel kills a process that outgrows its container. So all connections
// share one budget of bytes: half of it is for the buffers that they read into and
// write from, and half for the calls that they have in flight, so that neither can
// use up what the other needs. A call beyond the budget is refused. If a buffer grows
// beyond it, the server closes the connection with the largest buffers: a client that
// sends a frame without end makes room for the others.

// pool is one half of the budget.
type pool struct {
	most int64
	// chunk is how many bytes a connection takes or gives back at once.
	chunk int64
	used  atomic.Int64
}

func (p *pool) over() bool { return p.used.Load() > p.most }

const (
	// freeBytes is what each connection may hold without taking it from the pool,
	// so that small calls, one after the other, never touch shared counters.
	freeBytes = 16 << 10
	// callChunk and bufferChunk are what a connection takes from the pools at once.
	// It gives back unneeded bytes when they are two chunks, so that a call more or
	// less changes nothing in the pool. Buffers change rarely, and by large sizes.
	callChunk   = 16 << 10
	bufferChunk = 4 << 10
	// callBytes is what a call takes in addition to its params: its state, its
	// deadline and its reply.
	callBytes = 1 << 10
	// paramCopies is how many copies of params are in memory while a call runs:
	// decoded, and as arguments of a script.
	paramCopies = 2
)

// account is what one connection holds of a pool. conn.mu guards it.
type account struct {
	pool     *pool
	held     int64
	reserved int64 // of the pool
}

// add changes how many bytes are held, and reports whether the pool had enough.
func (a *account) add(bytes int64) bool {
	a.held += bytes
	p, need := a.pool, max(0, a.held-freeBytes)
	if need > a.reserved {
		more := (need - a.reserved + p.chunk - 1) / p.chunk * p.chunk
		a.reserved += more
		return p.used.Add(more) <= p.most
	}
	if spare := (a.reserved - need) / p.chunk * p.chunk; spare >= 2*p.chunk || need == 0 && spare > 0 {
		a.reserved -= spare
		p.used.Add(-spare)
	}
	return true
}

// admit counts a decoded call as in flight, unless this connection or all of them
// together have too many; the caller holds mu.
func (c *conn) admit(k *call) *api.Error {
	s, l := c.server, &c.server.opts.Limits
	most, base := l.MaxInflight, int64(callBytes)
	if k.class == classWaiting {
		most, base = l.MaxWaiting, 0 // it has a budget of its own
	}
	if int64(c.running[k.class]) >= most {
		return errOverloaded
	}
	k.cost = base + paramCopies*int64(k.size)
	if !c.calling.add(k.cost) {
		c.calling.add(-k.cost)
		return errOverBytes
	}
	if k.class == classWaiting && s.waiting.Add(1) > l.MaxTotalWaiting {
		s.waiting.Add(-1)
		c.calling.add(-k.cost)
		return errOverWaiting
	}
	c.running[k.class]++
	return nil
}

// discharge undoes admit; the caller holds mu.
func (c *conn) discharge(k *call) {
	c.running[k.class]--
	c.calling.add(-k.cost)
	if k.class == classWaiting {
		c.server.waiting.Add(-1)
	}
}

// resize counts a change of the read buffer's size, and makes room in the budget if
// there is none. It returns the reason if the connection must be closed.
func (c *conn) resize(from, to int) string {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return closedBroken
	}
	c.readBytes += int64(to - from)
	fits := c.buffered.add(int64(to - from))
	c.mu.Unlock()
	if fits {
		return ""
	}
	c.server.relieve()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return closedOverBudget
	}
	return ""
}

// weigh counts a change of the write buffers' size; the caller holds mu.
func (c *conn) weigh() {
	now := int64(cap(c.out) + cap(c.wire))
	if now == c.writeBytes {
		return
	}
	change := now - c.writeBytes
	c.writeBytes = now
	if !c.buffered.add(change) {
		// On another goroutine, because closing another connection must not happen with this one's mu held.
		c.server.workers.wg.Go(c.server.relieve)
	}
}

// unbuffer gives back what the buffers of a closed connection took from the budget;
// the caller holds mu. Its calls are counted until they end.
func (c *conn) unbuffer() {
	c.buffered.add(-c.buffered.held)
	c.readBytes, c.writeBytes = 0, 0
}

// budget is what a server's connections share.
type budget struct {
	buffers, calls pool
	// waiting are the calls of class waiting.
	waiting atomic.Int64

	relieving sync.Mutex // lets one goroutine at a time run relieve
}

// relieve closes connections, those with the largest buffers first, until the others fit.
func (s *Server) relieve() {
	s.relieving.Lock()
	defer s.relieving.Unlock()
	for s.buffers.over() {
		c, read, write := s.heaviest()
		if c == nil {
			return
		}
		c.log.Warn("the buffers of all connections take too much memory together: closing the connection with the largest",
			"read", read, "unwritten", write, "limits.max_total_bytes", s.opts.Limits.MaxTotalBytes)
		c.close(closedOverBudget)
	}
}

// heaviest returns the open connection with the largest buffers; any of them if
// there are several.
func (s *Server) heaviest() (found *conn, read, write int64) {
	for _, c := range s.connections() {
		c.mu.Lock()
		r, w, closed := c.readBytes, c.writeBytes, c.closed
		c.mu.Unlock()
		if !closed && r+w > read+write {
			found, read, write = c, r, w
		}
	}
	return found, read, write
}

// Held returns how many bytes of the budget connections hold, for buffers and for calls.
func (s *Server) Held() (buffers, calls int64) { return s.buffers.used.Load(), s.calls.used.Load() }

// Limits returns the limits in force.
func (s *Server) Limits() api.Limits { return s.opts.Limits }

// Waiting returns how many calls in flight may wait.
func (s *Server) Waiting() int64 { return s.waiting.Load() }

// The errors of the bounds of all connections together. A client can get either
// without having done anything wrong, so both are retryable.
var (
	errOverBytes = &api.Error{Code: api.Overloaded, Retryable: api.Overloaded.Retryable(), Message: "the calls in flight of " +
		"all connections take too much memory together; try again later, with fewer or smaller ones at once (limits.max_total_bytes)"}
	errOverWaiting = &api.Error{Code: api.Overloaded, Retryable: api.Overloaded.Retryable(), Message: "too many calls " +
		"of all connections wait; try again later (limits.max_total_waiting)"}
)

// open sets the budget to these limits.
func (b *budget) open(l api.Limits) {
	b.buffers.most, b.buffers.chunk = l.MaxTotalBytes/2, bufferChunk
	b.calls.most, b.calls.chunk = l.MaxTotalBytes/2, callChunk
}
