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
	Line  string `lua:"key"`
	Beats string `lua:"key"`
}

// LineBeat keeps the places of one sidecar's waiters in one line, and tells
// whose turn it is, so that nothing rests on a message that may be lost.
var LineBeat = lua.Define[LineBeatIn, LineBeatOut](files, lua.Source{Name: "line_beat", Idempotent: true})

// LineBeatIn is one beat. Waiters are some of this sidecar's, at most 100, joined by
// spaces, to be checked for their places.
type LineBeatIn struct {
	LineKeys
	Sidecar string
	BeatMS  int64
	Waiters string
	// Gone is a waiter of this sidecar that waits no more and still has a place;
	// empty = none is known.
	Gone string
}

// LineBeatOut has the head of the line and the waiters without a ticket.
type LineBeatOut struct {
	// Head is the waiter whose turn it is, of whichever sidecar; empty = none is known.
	Head string
	// HeadMS is when the head's sidecar is taken for dead unless it beats again, rounded up.
	HeadMS int64
	// Missing are those of Waiters that have no place any more, joined by spaces.
	Missing string
}
