package redis

import (
	"strings"
	"time"
)

// words are an error reply that a server sent without a request.
type words string

// Error and RedisError implement redis.Error.
func (w words) Error() string { return string(w) }
func (words) RedisError()     {}

// refusesHello are the replies to HELLO that do not concern the connection: go-redis
// sends HELLO first and goes on after any error.
var refusesHello = []string{"NOAUTH", "NOPERM", "NOPROTO", "ERR unknown command"}

// hear keeps the error that a server sends first. A server that refuses a connection
// (protected mode, maxclients) sends a reason and hangs up. The error is then easily
// lost: what was written meanwhile fails with an error of the socket, or go-redis takes
// the reason for a reply to its own command, drops it and fails with the next one. Once
// the server has sent anything but an error the connection counts as good, and nothing
// is kept any more.
func (n *tracked) hear(p []byte) {
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

// parting is the error to return for a connection that ended with err: what the server
// said before it hung up, if it said something. With unread, that may not have been
// read yet.
func (n *tracked) parting(err error, unread bool) error {
	if n.good.Load() || !hungUp(err) {
		return err
	}
	if unread && n.said == "" {
		p := make([]byte, 4096)
		// The server has hung up, so that this read does not wait.
		_ = n.Conn.SetReadDeadline(time.Now().Add(time.Second))
		got, why := n.Conn.Read(p)
		switch {
		case got > 0:
			n.hear(p[:got])
		case isAlert(why):
			return why
		}
	}
	if n.said == "" {
		return err
	}
	return n.said
}
