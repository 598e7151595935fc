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

// secureConn is a TLS connection that can check without waiting whether the server has
// closed it. The raw socket does not show that: data that waits there may be a session
// ticket or the end of the connection.
type secureConn struct {
	*tls.Conn
	under *transport
}

// secure does the TLS handshake on a connection to addr, and closes the connection if
// that fails.
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
			// For any other refusal a server closes the connection after the handshake, and
			// sends the reason.
			return nil, &tlsFailed{fmt.Errorf("the server closed the connection during the handshake, as Redis does when maxclients is reached: %w", err)}
		}
		return nil, &tlsFailed{err}
	}
	return s, nil
}

var errUnasked = errors.New("the server sent data that no command asked for")

// look checks whether the server has closed the connection; nil means that it has not.
// It does not wait. No other goroutine may use the connection meanwhile, and no reply may
// be due.
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
	// While impatient is set, reads return what has arrived, or os.ErrDeadlineExceeded if
	// nothing has; TLS can go on after that error. A deadline in the past would not do: it
	// ends a read before the read looks at the socket.
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
			// The runtime has made the socket non-blocking.
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

// looked is returned to the pool as the raw socket of a connection that was checked in
// another way or cannot be checked. The pool reads no data from it.
type looked struct{}

// looked implements syscall.RawConn.
func (looked) Control(func(fd uintptr)) error    { return errors.ErrUnsupported }
func (looked) Read(func(fd uintptr) bool) error  { return nil }
func (looked) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// handshakes reports whether the other end answers a TLS handshake, whatever its certificate is.
func handshakes(ctx context.Context, raw net.Conn) bool {
	seen := false
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // nothing is sent
	conf.VerifyConnection = func(tls.ConnectionState) error {
		seen = true
		return nil
	}
	err := tls.Client(raw, conf).HandshakeContext(ctx)
	return err == nil || seen
}
