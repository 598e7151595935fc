package stream

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// LookScript counts the messages of a stream, and lists the names of its groups.
var LookScript = lua.Define[LookIn, LookOut](files, lua.Source{Name: "stream_look", Idempotent: true})

// LookIn is one stream.
type LookIn struct {
	Keys
	Due string `lua:"key"`
}

// LookOut has its counts.
type LookOut struct {
	Log                            bool // the log exists, empty or not
	Length, Delayed, Dead, Trimmed int64
	Names                          []string // of the groups, in no particular order
}

// GroupScript counts the messages of a group.
var GroupScript = lua.Define[GroupIn, GroupOut](files, lua.Source{Name: "stream_group", Idempotent: true})

// GroupIn is one group.
type GroupIn struct {
	Keys
	GroupKeys
	Group string
}

// GroupOut has its counts.
type GroupOut struct {
	Found     bool
	Lag       int64 // messages that were not delivered to the group; -1 = not known
	Least     int64 // a lower bound of Lag; equal to it if it is known
	Pending   int64
	Retrying  int64
	Parked    int64
	Consumers int64
	OldestMS  int64 // milliseconds since the oldest pending message was added; 0 = there is none
	Last      string
}

// GroupsScript lists the consumers of all groups of a stream.
var GroupsScript = lua.Define[Keys, GroupsOut](files, lua.Source{Name: "stream_groups", Idempotent: true})

// GroupsOut has a row for each consumer, and a row with an empty Consumer for each group.
type GroupsOut struct{ Rows []ConsumerRow }

// ConsumerRow is one consumer or one group.
type ConsumerRow struct {
	Group, Consumer string
	Pending, IdleMS int64
}

// ReadScript reads a page of a stream, the oldest message first, without a group.
var ReadScript = lua.Define[ReadIn, ReadOut](files, lua.Source{Name: "stream_read", Idempotent: true})

// ReadIn is one page.
type ReadIn struct {
	Keys
	After  string // the id of the last message of the page before; empty = from the first
	Newest bool   // begin after the newest message, and ignore After
	Count  int64
	// Bytes is the most bytes of the page's messages together. A page has at least one message,
	// whatever its size.
	Bytes int64
}

// ReadOut is one page.
type ReadOut struct {
	Last     string // After of the next page
	More     bool   // more messages follow
	Messages []Read
}

// Read is one message.
type Read struct {
	ID, Message string
	Only        string // see Entry of package redis
}

// DeadScript reads a page of dead letters, the oldest first.
var DeadScript = lua.Define[DeadIn, DeadOut](files, lua.Source{Name: "stream_dead", Idempotent: true})

// DeadIn is one page.
type DeadIn struct {
	Keys
	After string // the id of the last letter of the page before; empty = from the first
	Count int64
	// Bytes is the most bytes of the page's messages and reasons together. A page has at least
	// one letter, whatever its size.
	Bytes int64
}

// DeadOut is one page.
type DeadOut struct {
	More    bool // more letters follow
	Letters []Letter
}

// Letter is one dead letter.
type Letter struct {
	ID, MessageID, Group string
	Attempts             int64
	Reason, Message      string
}

// RedriveScript moves dead letters to the end of their stream, all in one run.
var RedriveScript = lua.Define[RedriveIn, RedriveOut](files, lua.Source{Name: "stream_redrive", StoresReply: true})

// RedriveIn names dead letters by IDs, of which those that do not exist are ignored, or gives the
// number of the oldest as Count.
type RedriveIn struct {
	Keys
	IDs   []string
	Count int64 // 0 = use IDs
}

// RedriveOut counts the dead letters that were moved, and those that are left.
type RedriveOut struct{ Redriven, Left int64 }

// TrimScript deletes messages of a stream, or its dead letters.
var TrimScript = lua.Define[TrimIn, TrimOut](files, lua.Source{Name: "stream_trim", Idempotent: true})

// TrimIn selects what is deleted, in one of three ways.
type TrimIn struct {
	Keys
	Dead    bool     // delete dead letters instead of messages
	MaxLen  int64    // delete all but this many of the newest; -1 = not used
	OlderMS int64    // delete those that were added longer ago, by the Redis server's clock; -1 = not used
	IDs     []string // delete these; empty = not used
}

// TrimOut counts the messages that were deleted, and those that are left.
type TrimOut struct{ Deleted, Left int64 }

// ReapScript removes the consumers of a group that have no pending messages and are idle.
var ReapScript = lua.Define[ReapIn, int64](files, lua.Source{Name: "stream_reap", Returns: []string{"reaped"}, Idempotent: true})

// ReapIn is one group.
type ReapIn struct {
	Keys
	Group  string
	IdleMS int64 // how long a consumer must have been idle
}
