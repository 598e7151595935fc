package lease

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// LineKeys are the two keys of a waiting line; internal/lua/lib/line.lua describes
// what they hold.
type LineKeys struct {
	Line       string `lua:"key"`
	Heartbeats string `lua:"key"`
}

// LineHeartbeat keeps the tickets of one sidecar's waiters in one line, and returns the
// first waiter of the line, so that waiting does not depend on messages, which may be lost.
var LineHeartbeat = lua.Define[LineHeartbeatIn, LineHeartbeatOut](files, lua.Source{Name: "line_heartbeat", Idempotent: true})

// LineHeartbeatIn is one heartbeat. Waiters are some of this sidecar's, at most 100, joined by
// spaces; the script checks whether they have tickets.
type LineHeartbeatIn struct {
	LineKeys
	Sidecar     string
	HeartbeatMS int64
	Waiters     string
	// Gone is a waiter of this sidecar that no longer waits but still has a ticket, which the script removes;
	// empty = none is known.
	Gone string
}

// LineHeartbeatOut has the head of the line and the waiters without a ticket.
type LineHeartbeatOut struct {
	// Head is the first waiter of the line, of any sidecar; empty = none is known.
	Head string
	// HeadMS is the time until the head's sidecar counts as dead unless it sends another heartbeat, rounded up.
	HeadMS int64
	// Missing are those of Waiters that have no ticket, joined by spaces.
	Missing string
}
