package rpc

import "golang.org/x/sys/unix"

// linger is called when the client has shut its side of the connection for writing, as
// printf in a pipe does; the client may still read. linger returns when all replies are
// written, or when the client has closed the connection.
func (c *conn) linger() {
	c.mu.Lock()
	c.ending = true
	over := c.closed || c.idle()
	c.mu.Unlock()
	if over {
		return
	}
	// The poller ends this wait when the client closes the connection, and when the
	// sidecar does.
	_ = c.raw.Read(hungUp)
}

// idle reports whether no call is in flight and nothing is left to write; the caller
// holds mu.
func (c *conn) idle() bool {
	for _, n := range c.running {
		if n > 0 {
			return false
		}
	}
	return c.answering == 0 && len(c.out) == 0 && c.rest == 0
}

// hungUp reports whether the other side has closed the socket for both ways.
func hungUp(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	for {
		n, err := unix.Poll(p, 0)
		if err == unix.EINTR {
			continue
		}
		return err != nil || n > 0 && p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	}
}
