package stream

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// LookScript counts what a stream has, and names its groups.
var LookScript = lua.Define[LookIn, LookOut](files, lua.Source{Name: "stream_look", Idempotent: true})

// LookIn is one stream.
type LookIn struct {
	Keys
	Due string `lua:"key"`
}

// LookOut has its counts.
type LookOut struct {
	Log                            bool // there is one, empty or not
	Length, Delayed, Dead, Trimmed int64
	Names                          []string // of the groups, in no order
}

// GroupScript counts what a group has.
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
	Lag       int64 // -1 = not known
	Least     int64 // what lag is at least; the same where it is known
	Pending   int64
	Retrying  int64
	Parked    int64
	Consumers int64
	OldestMS  int64 // since the oldest pending message was added; 0 = there is none
	Last      string
}

// GroupsScript lists the consumers of all groups of a stream.
var GroupsScript = lua.Define[Keys, GroupsOut](files, lua.Source{Name: "stream_groups", Idempotent: true})

// GroupsOut has a row for each consumer, and one with an empty consumer for each group.
type GroupsOut struct{ Rows []ConsumerRow }

// ConsumerRow is one consumer, or a group.
type ConsumerRow struct {
	Group, Consumer string
	Pending, IdleMS int64
}

// ReadScript reads a page of a stream, the oldest message first, without a group.
var ReadScript = lua.Define[ReadIn, ReadOut](files, lua.Source{Name: "stream_read", Idempotent: true})

// ReadIn is one page.
type ReadIn struct {
	Keys
	After  string // the id of the last one before; empty = from the first
	Newest bool   // from behind the newest message on, whatever After is
	Count  int64
	// Bytes are how many the messages of the page have together at most; the first comes
	// whatever it has.
	Bytes int64
}

// ReadOut is one page.
type ReadOut struct {
	Last     string // for After of the next page
	More     bool   // others follow
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
	After string // the id of the last one before; empty = from the first
	Count int64
	// Bytes are how many the messages of the page have together at most; the first comes
	// whatever it has.
	Bytes int64
}

// DeadOut is one page.
type DeadOut struct {
	More    bool // others follow
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

// RedriveIn names dead letters, of which those that are not there are passed over, or says
// how many of the oldest.
type RedriveIn struct {
	Keys
	IDs   []string
	Count int64 // 0 = those of IDs
}

// RedriveOut counts those that were moved, and those that are left.
type RedriveOut struct{ Redriven, Left int64 }

// TrimScript deletes messages of a stream, or its dead letters.
var TrimScript = lua.Define[TrimIn, TrimOut](files, lua.Source{Name: "stream_trim", Idempotent: true})

// TrimIn says what is deleted, in one of three ways.
type TrimIn struct {
	Keys
	Dead    bool     // of the dead letters
	MaxLen  int64    // all but the newest so many; -1 = not by this
	OlderMS int64    // those that were added longer ago, by the server's clock; -1 = not by this
	IDs     []string // these; empty = not by this
}

// TrimOut counts what was deleted, and what is left.
type TrimOut struct{ Deleted, Left int64 }

// ReapScript removes consumers that have no messages and have done nothing for a while.
var ReapScript = lua.Define[ReapIn, int64](files, lua.Source{Name: "stream_reap", Returns: []string{"reaped"}, Idempotent: true})

// ReapIn is one group.
type ReapIn struct {
	Keys
	Group  string
	IdleMS int64 // how long they have done nothing
}
