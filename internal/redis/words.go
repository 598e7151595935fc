package redis

import (
	"strings"
	"time"
)

// words is an error reply that a server sent without a request.
type words string

// Error and RedisError implement redis.Error.
func (w words) Error() string { return string(w) }
func (words) RedisError()     {}

// refusesHello are the error replies to HELLO that do not end the connection: go-redis
// sends HELLO first and continues after any error.
var refusesHello = []string{"NOAUTH", "NOPERM", "NOPROTO", "ERR unknown command"}

// keepRefusal keeps the error that a server sends first. A server that refuses a connection
// (protected mode, maxclients) sends a reason and closes the connection. The reason is then
// easily lost: a write that comes too late fails with an error of the socket, or go-redis
// takes the reason for the reply to its own command, drops it and fails with the next one.
// Once the server has sent anything but an error, the connection counts as good and no
// error is kept.
func (n *tracked) keepRefusal(p []byte) {
	if p[0] != '-' {
		n.good.Store(true)
		return
	}
	line, _, _ := strings.Cut(string(p[1:]), "\r\n")
	for _, code := range refusesHello {
		if strings.HasPrefix(line, code) {
			return
		}
	}
	n.said = words(line)
}

// parting returns the error for a connection that ended with err: the error reply that the
// server sent before it closed the connection, if it sent one, else err. With unread, that
// reply may not have been read yet.
func (n *tracked) parting(err error, unread bool) error {
	if n.good.Load() || !hungUp(err) {
		return err
	}
	if unread && n.said == "" {
		p := make([]byte, 4096)
		// The server has closed the connection, so that this read does not wait.
		_ = n.Conn.SetReadDeadline(time.Now().Add(time.Second))
		got, why := n.Conn.Read(p)
		switch {
		case got > 0:
			n.keepRefusal(p[:got])
		case isAlert(why):
			return why
		}
	}
	if n.said == "" {
		return err
	}
	return n.said
}
