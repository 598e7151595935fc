package redis

import (
	"strings"
	"time"
)

// words are what a server wrote of its own accord: an error reply to nothing.
type words string

// Error and RedisError make it an error as go-redis reads it.
func (w words) Error() string { return string(w) }
func (words) RedisError()     {}

// refusesHello are the replies to HELLO that say nothing about the connection.
// go-redis sends it first and goes on after any error.
var refusesHello = []string{"NOAUTH", "NOPERM", "NOPROTO", "ERR unknown command"}

// hear remembers the error that a server begins with. One that wants to be rid of
// us says why, such as protected mode or maxclients, and hangs up. What we sent
// meanwhile then fails with an error of the socket, or go-redis takes the words
// for its reply, throws them away and fails with its next command: both hide
// them. From the first reply on that is no error the connection is a good one.
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

// parting is the error of a connection that ended with err: what the server said
// before, if it did. With unread, that may still be there to be read.
func (n *tracked) parting(err error, unread bool) error {
	if n.good.Load() || !hungUp(err) {
		return err
	}
	if unread && n.said == "" {
		p := make([]byte, 4096)
		// Whoever hung up sends no more: nothing here waits.
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
