//go:build unix

package client

import (
	"net"
	"syscall"
)

// nonBlocking returns a function that writes what the socket takes at once and
// never waits: the caller's context could not interrupt it.
func nonBlocking(nc net.Conn) func([]byte) (int, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return later
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return later
	}
	var (
		// One writer at a time, by conn.writing: kept here so that a write allocates nothing.
		b    []byte
		n    int
		werr error
	)
	write := func(fd uintptr) bool {
		for n < len(b) {
			var m int
			if m, werr = syscall.Write(int(fd), b[n:]); werr == syscall.EINTR {
				continue
			}
			if werr != nil {
				break
			}
			n += m
		}
		return true
	}
	return func(p []byte) (int, error) {
		b, n, werr = p, 0, nil
		err := raw.Write(write)
		b = nil
		if err == nil && werr != syscall.EAGAIN {
			err = werr
		}
		return n, err
	}
}
