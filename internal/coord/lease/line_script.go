package lease

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// LineKeys are the two keys of a waiting line; the scripts' parts say what
// they hold.
type LineKeys struct {
	Line       string `lua:"key"`
	Heartbeats string `lua:"key"`
}

// LineHeartbeat keeps the places of one sidecar's waiters in one line, and tells
// whose turn it is, so that nothing rests on a message that may be lost.
var LineHeartbeat = lua.Define[LineHeartbeatIn, LineHeartbeatOut](files, lua.Source{Name: "line_heartbeat", Idempotent: true})

// LineHeartbeatIn is one heartbeat. Waiters are some of this sidecar's, at most 100, joined by
// spaces, to be checked for their places.
type LineHeartbeatIn struct {
	LineKeys
	Sidecar     string
	HeartbeatMS int64
	Waiters     string
	// Gone is a waiter of this sidecar that waits no more and still has a place;
	// empty = none is known.
	Gone string
}

// LineHeartbeatOut has the head of the line and the waiters without a ticket.
type LineHeartbeatOut struct {
	// Head is the waiter whose turn it is, of whichever sidecar; empty = none is known.
	Head string
	// HeadMS is when the head's sidecar is taken for dead unless it sends another heartbeat, rounded up.
	HeadMS int64
	// Missing are those of Waiters that have no place any more, joined by spaces.
	Missing string
}
