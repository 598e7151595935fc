package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// secureConn is a connection over TLS that can tell, without waiting, whether
// the other side has hung up. Its raw socket cannot tell that: a record that is
// read there may be a session ticket as well as the end.
type secureConn struct {
	*tls.Conn
	under *transport
}

// secure makes a connection to addr one over TLS, or closes it.
func (c *connector) secure(ctx context.Context, raw net.Conn, addr string) (net.Conn, error) {
	conf, err := c.tls(addr)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	under := &transport{Conn: raw}
	s := &secureConn{tls.Client(under, conf), under}
	ctx, cancel := context.WithTimeout(ctx, c.opt.DialTimeout)
	defer cancel()
	if err := s.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if hungUp(err) {
			// What it has to say comes after the handshake, except for this one.
			return nil, &tlsFailed{fmt.Errorf("the server hung up during the handshake, as it does where its maxclients are reached: %w", err)}
		}
		return nil, &tlsFailed{err}
	}
	return s, nil
}

var errUnasked = errors.New("the server sent what nobody asked for")

// look reports whether the server has hung up, by reading without waiting; nil means
// that it has not. No one else may use the connection meanwhile, and no reply may be due.
func (s *secureConn) look() error {
	s.under.impatient = true
	defer func() { s.under.impatient = false }()
	n, err := s.Read(make([]byte, 1))
	switch {
	case n > 0:
		return errUnasked
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// transport is the connection below TLS.
type transport struct {
	net.Conn
	// impatient reads take what has arrived and end in os.ErrDeadlineExceeded where
	// that is nothing, after which TLS can go on. A deadline of the connection that
	// has passed would end them before they have looked.
	impatient bool
}

// Read implements net.Conn.
func (t *transport) Read(p []byte) (int, error) {
	if !t.impatient {
		return t.Conn.Read(p)
	}
	s, ok := t.Conn.(syscall.Conn)
	if !ok {
		return 0, os.ErrDeadlineExceeded
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var failed error
	if err := raw.Read(func(fd uintptr) bool {
		for {
			// The runtime keeps sockets from blocking.
			if n, failed = syscall.Read(int(fd), p); !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	}); err != nil {
		return 0, err
	}
	switch {
	case errors.Is(failed, syscall.EAGAIN):
		return 0, os.ErrDeadlineExceeded
	case failed != nil:
		return 0, os.NewSyscallError("read", failed)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// looked is the raw socket of a connection that was looked at by other means, or
// cannot be: there is nothing to be seen on it.
type looked struct{}

// syscall.RawConn.
func (looked) Control(func(fd uintptr)) error    { return errors.ErrUnsupported }
func (looked) Read(func(fd uintptr) bool) error  { return nil }
func (looked) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }
