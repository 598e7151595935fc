package redis

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// dialFunc makes one connection to the store.
type dialFunc func(ctx context.Context) (net.Conn, error)

// conns makes the connections of a node and keeps a list of them, so that an outage can
// close all of them at once. A call that waits on a dead server then ends as soon as
// the probe knows that the server is dead, and no connection from before an outage is
// used after it.
type conns struct {
	dial dialFunc

	mu   sync.Mutex // guards open and shut
	open map[*tracked]struct{}
	shut bool // the owner has closed: no dial any more
}

func newConns(dial dialFunc) *conns { return &conns{dial: dial, open: map[*tracked]struct{}{}} }

// tracked is a connection that is in the list of conns.
type tracked struct {
	net.Conn
	of *conns

	good atomic.Bool             // the server has sent something other than an error
	said words                   // the error reply that the server sent first; not set after good
	why  atomic.Pointer[Trouble] // why closeAll closed it
}

// connect makes a connection for scripts.
func (c *conns) connect(ctx context.Context) net.Conn {
	n := c.track(ctx)
	if t, ok := n.(*tracked); ok {
		return &conn{tracked: t}
	}
	return n
}

// track dials. It never fails: if no connection can be made, it returns a deadConn. The
// pool of go-redis counts failed dials, opens a breaker of its own after some of them,
// and then needs up to a second to notice that Redis is back. That cannot be switched
// off.
func (c *conns) track(ctx context.Context) net.Conn {
	raw, err := c.dial(ctx)
	if err != nil {
		return deadConn{&unsent{"dial", err}}
	}
	n := &tracked{Conn: raw, of: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		_ = raw.Close()
		return deadConn{&unsent{"dial", errClosed}}
	}
	c.open[n] = struct{}{}
	return n
}

// closeAll closes every connection because of why. With shut, no new one can be made either.
func (c *conns) closeAll(why *Trouble, shut bool) {
	c.mu.Lock()
	c.shut = c.shut || shut
	open := c.open
	c.open = map[*tracked]struct{}{}
	c.mu.Unlock()
	for n := range open {
		n.why.Store(why)
		_ = n.Conn.Close()
	}
}

// conn is a connection that records whether a failure on it can have lost a script. One
// goroutine at a time uses it: it writes a whole pipeline and then reads all replies.
// With full duplex these records would not be enough.
type conn struct {
	*tracked
	used bool // a script was written at some time
	owed bool // something was written since the last reply, so that a reply is due
}

var mark = []byte(EvalSHA)

// Read implements net.Conn.
func (n *conn) Read(p []byte) (int, error) {
	got, err := n.tracked.Read(p)
	if got > 0 {
		n.owed = false
	}
	if err != nil && !n.used {
		err = n.inSetup(err)
	}
	return got, err
}

// Write implements net.Conn.
func (n *conn) Write(p []byte) (int, error) {
	put, err := n.tracked.Write(p)
	if put > 0 {
		n.used = n.used || bytes.Contains(p, mark)
	} else if err != nil && !n.owed {
		if n.used {
			err = &unsent{"write", err}
		} else {
			err = n.inSetup(err)
		}
	}
	n.owed = n.owed || put > 0
	return put, err
}

// SetReadDeadline implements net.Conn.
func (n *conn) SetReadDeadline(t time.Time) error {
	err := n.Conn.SetReadDeadline(t)
	if err != nil && !n.used {
		err = n.inSetup(err)
	}
	return err
}

// inSetup returns the error of a connection that failed before it was used. If this process
// closed the connection, the error has the reason for that, since the server did not close it.
func (n *conn) inSetup(err error) error {
	if errors.Is(err, net.ErrClosed) {
		err = errClosed
		if why := n.why.Load(); why != nil {
			err = why
		}
	}
	return &unsent{"setup", err}
}

// SetWriteDeadline implements net.Conn. The pool calls it right before it writes a
// pipeline; it fails if the connection is closed.
func (n *conn) SetWriteDeadline(t time.Time) error {
	err := n.Conn.SetWriteDeadline(t)
	if err != nil && !n.owed {
		err = &unsent{"write", err}
	}
	return err
}

// Read implements net.Conn.
func (n *tracked) Read(p []byte) (int, error) {
	got, err := n.Conn.Read(p)
	switch {
	case n.good.Load():
	case got > 0:
		n.keepRefusal(p[:got])
	case err != nil:
		err = n.parting(err, false)
	}
	return got, err
}

// Write implements net.Conn.
func (n *tracked) Write(p []byte) (int, error) {
	put, err := n.Conn.Write(p)
	if err != nil {
		err = n.parting(err, true)
	}
	return put, err
}

// Close implements net.Conn.
func (n *tracked) Close() error {
	n.of.mu.Lock()
	delete(n.of.open, n)
	n.of.mu.Unlock()
	return n.Conn.Close()
}

// SyscallConn lets the pool check whether the server has closed the connection, before
// the pool hands it out. The pool takes every error for a closed connection, so that a
// connection that cannot be checked has to pass as open.
func (n *tracked) SyscallConn() (syscall.RawConn, error) {
	switch c := n.Conn.(type) {
	case *secureConn:
		return looked{}, c.look()
	case syscall.Conn:
		return c.SyscallConn()
	}
	return looked{}, nil
}

// deadConn is returned in place of a connection that could not be made. err is the reason.
type deadConn struct{ err error }

// deadConn implements net.Conn and syscall.Conn. Every method fails, so that no pool
// keeps it.
func (d deadConn) Read([]byte) (int, error)              { return 0, d.err }
func (d deadConn) Write([]byte) (int, error)             { return 0, d.err }
func (d deadConn) Close() error                          { return nil }
func (d deadConn) LocalAddr() net.Addr                   { return &net.TCPAddr{} }
func (d deadConn) RemoteAddr() net.Addr                  { return &net.TCPAddr{} }
func (d deadConn) SetDeadline(time.Time) error           { return d.err }
func (d deadConn) SetReadDeadline(time.Time) error       { return d.err }
func (d deadConn) SetWriteDeadline(time.Time) error      { return d.err }
func (d deadConn) SyscallConn() (syscall.RawConn, error) { return nil, d.err }
