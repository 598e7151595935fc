package rpc

import (
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The bounds of one connection do not bound what all of them take together, and
// the kernel kills a process that outgrows its container. So all connections
// share one budget of bytes, half of it for the buffers that they read into and
// write from and half for the calls that they have in flight: neither can use up
// what the other needs. Calls past it are refused. A buffer past it has the
// connection with the largest buffers closed, so that who sends a frame without
// ever ending it makes room for who does.

// pool is one half of the budget.
type pool struct {
	most int64
	// chunk is what connections take and give back at once.
	chunk int64
	used  atomic.Int64
}

func (p *pool) over() bool { return p.used.Load() > p.most }

const (
	// freeBytes is what each connection has of a pool without taking it from
	// there: small calls, one after the other, never touch what all share.
	freeBytes = 16 << 10
	// callChunk and bufferChunk are what it takes at once. What is no longer needed
	// is given back when it is two of them, so that one call more or less costs
	// nothing. Buffers change seldom and by much.
	callChunk   = 16 << 10
	bufferChunk = 4 << 10
	// callBytes is what a call takes beside its params: its own state, its
	// deadline and its reply.
	callBytes = 1 << 10
	// paramCopies is how often params are in memory while a call is carried out:
	// decoded, and as arguments of a script.
	paramCopies = 2
)

// account is what one connection holds of a pool. It is guarded by conn.mu.
type account struct {
	pool     *pool
	held     int64
	reserved int64 // of the pool
}

// add changes what is held, and reports whether the pool had as much.
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

// admit counts in a call that was decoded, unless this connection or all of them
// have too many; the caller holds mu.
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

// resize tells that the read buffer has another size, and makes room for it where
// there is none. It returns why the connection has to be closed.
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

// weigh tells that the write buffers have grown or shrunk; the caller holds mu.
func (c *conn) weigh() {
	now := int64(cap(c.out) + cap(c.wire))
	if now == c.writeBytes {
		return
	}
	change := now - c.writeBytes
	c.writeBytes = now
	if !c.buffered.add(change) {
		// Not here: who closes another connection must not hold this one.
		c.server.workers.wg.Go(c.server.relieve)
	}
}

// unbuffer gives back what the buffers of a closed connection took; the caller
// holds mu. Its calls are counted until they end.
func (c *conn) unbuffer() {
	c.buffered.add(-c.buffered.held)
	c.readBytes, c.writeBytes = 0, 0
}

// budget is what a server's connections share.
type budget struct {
	buffers, calls pool
	// waiting are the calls of class waiting.
	waiting atomic.Int64

	relieving sync.Mutex // makes those who relieve take turns
}

// relieve closes the connections with the largest buffers until the others fit.
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

// heaviest is the open connection with the largest buffers. Nothing is lost by
// which of two equal ones it is.
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

// Held is what connections hold of the budget, in buffers and in calls, in bytes.
func (s *Server) Held() (buffers, calls int64) { return s.buffers.used.Load(), s.calls.used.Load() }

// Limits are those in force.
func (s *Server) Limits() api.Limits { return s.opts.Limits }

// Waiting counts the calls in flight that may wait.
func (s *Server) Waiting() int64 { return s.waiting.Load() }

// The bounds of all connections together. Either can be met by a client that did
// nothing wrong, so both say that it may try again.
var (
	errOverBytes = &api.Error{Code: api.Overloaded, Retryable: api.Overloaded.Retryable(), Message: "the calls in flight of " +
		"all connections take too much memory together; try again later, with fewer or smaller ones at once (limits.max_total_bytes)"}
	errOverWaiting = &api.Error{Code: api.Overloaded, Retryable: api.Overloaded.Retryable(), Message: "too many calls " +
		"of all connections wait; try again later (limits.max_total_waiting)"}
)

// open makes the budget of these limits.
func (b *budget) open(l api.Limits) {
	b.buffers.most, b.buffers.chunk = l.MaxTotalBytes/2, bufferChunk
	b.calls.most, b.calls.chunk = l.MaxTotalBytes/2, callChunk
}
