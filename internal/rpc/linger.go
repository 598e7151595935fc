package rpc

import "golang.org/x/sys/unix"

// linger returns when a client whose end was read has got all that it waited for, or
// is gone. Who writes calls with printf into a socket shuts it for writing only.
func (c *conn) linger() {
	c.mu.Lock()
	c.ending = true
	over := c.closed || c.idle()
	c.mu.Unlock()
	if over {
		return
	}
	// The poller wakes it when the other side closes, and when the connection is
	// closed here.
	_ = c.raw.Read(hungUp)
}

// idle reports whether nothing is in flight or waits to be written; the caller
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
