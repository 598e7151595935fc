package redis

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// dialer makes every connection of a store to a server, including those to sentinels
// and to the nodes of a cluster's URL, and closes them when the store is closed. A read
// does not notice that its context was cancelled, so that without this a server that
// accepts and never answers would block Close.
type dialer struct {
	net.Dialer

	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu   sync.Mutex // guards what follows
	open map[*dialled]struct{}
}

func newDialer(d net.Dialer) *dialer {
	ctx, cancel := context.WithCancel(context.Background())
	return &dialer{Dialer: d, ctx: ctx, cancel: cancel, open: map[*dialled]struct{}{}}
}

// DialContext connects until ctx ends or the dialer is closed.
func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	raw, err := d.Dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n := &dialled{Conn: raw, by: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		_ = raw.Close()
		return nil, errClosed
	}
	d.open[n] = struct{}{}
	return n, nil
}

// close ends every connection and every attempt to make one.
func (d *dialer) close() {
	d.cancel()
	d.mu.Lock()
	open := d.open
	d.open = map[*dialled]struct{}{}
	d.mu.Unlock()
	for n := range open {
		_ = n.Conn.Close()
	}
}

// dialled is a connection that is in the list of its dialer.
type dialled struct {
	net.Conn
	by *dialer
}

// Close implements net.Conn.
func (n *dialled) Close() error {
	n.by.mu.Lock()
	delete(n.by.open, n)
	n.by.mu.Unlock()
	return n.Conn.Close()
}

// SyscallConn implements syscall.Conn. Every connection that net.Dialer makes has one.
func (n *dialled) SyscallConn() (syscall.RawConn, error) {
	return n.Conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // see above
}
