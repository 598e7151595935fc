package stream

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are what a stream has; part_stream.lua says what they hold. All are under one tag.
type Keys struct {
	Log, Dead, Groups string `lua:"key"`
}

// GroupKeys are what a group has, under the tag of its stream; part_lane.lua says what the
// last three hold.
type GroupKeys struct {
	Retry, Lanes, Parked, Laned string `lua:"key"`
}

// DelayedKeys are what holds the messages that are not due.
type DelayedKeys struct {
	Due, Delayed string `lua:"key"`
}

// PublishScript adds a message to the end of a stream, or to those that are not due.
var PublishScript = lua.Define[PublishIn, PublishOut](files, lua.Source{Name: "stream_publish", StoresReply: true})

// PublishIn is one message.
type PublishIn struct {
	Keys
	DelayedKeys
	Dedupe   string `lua:"key,optional"` // empty = there is no dedupe id
	Message  string // as encoded by envelope
	DedupeMS int64
	MaxLen   int64 // about how many messages the stream keeps when it is added; 0 = all
	DelayMS  int64
	// Broadcast is the channel of all sidecars, which are told of a delay that is over before
	// all others.
	Broadcast string
}

// PublishOut says what became of it.
type PublishOut struct {
	Published bool   // false = its dedupe id was known
	ID        string // empty = it is not due, or the first one with its dedupe id was not
	DueMS     int64  // Unix milliseconds; 0 = it was added at once
}

// DueScript adds messages to a stream whose delay is over, as many as one run may.
var DueScript = lua.Define[DueIn, DueOut](files, lua.Source{Name: "stream_due", Idempotent: true})

// DueIn is one stream.
type DueIn struct {
	Keys
	DelayedKeys
}

// DueOut says when to look again.
type DueOut struct {
	Added  int64
	NextMS int64 // milliseconds until the next message is due; 0 = now; -1 = none waits
}

// OpenScript makes a group, if there is none. One that was lost begins where it was, or at
// the end of the stream if that is before.
var OpenScript = lua.Define[OpenIn, OpenOut](files, lua.Source{Name: "stream_open", Idempotent: true})

// OpenIn is one group.
type OpenIn struct {
	Keys
	GroupKeys
	Group string
	// From is the last message that the sidecar knows to have been delivered, or, of a group
	// that never was, 0-0 for the first message or $ for those to come.
	From string
	// Field of messages is the key by which the group delivers; empty = it has no lanes.
	Field string
}

// OpenOut says what was found.
type OpenOut struct {
	Created bool
	Last    string // the last message that was delivered to it
	// By is the field by which the group delivers. If it is not that of OpenIn, nothing was
	// done.
	By string
}

// ClaimScript takes messages that were delivered and are to be delivered again: those whose
// delay after a nack is over, and those whose visibility timeout is over. Poison goes to the
// dead letters, and a redriven message that is for another group is acknowledged.
var ClaimScript = lua.Define[ClaimIn, ClaimOut](files, lua.Source{Name: "stream_claim", Idempotent: true})

// ClaimIn is one look at the pending messages of a group.
type ClaimIn struct {
	Keys
	GroupKeys
	Group         string
	Consumer      string
	VisibilityMS  int64
	MaxDeliveries int64
	Count         int64  // how many to take at most, up to 100; with 0 only the dead are moved
	After         string // the message after which to look; empty = from the first
}

// ClaimOut is what was found.
type ClaimOut struct {
	Missing bool  // there is no such group
	Dead    int64 // moved to the dead letters
	Trimmed int64 // deleted from the stream before they were acknowledged
	// Next is for After of the next look; empty = it begins with the first.
	Next string
	// More: some are to be delivered that were left, since Count or 1 MiB was reached.
	More bool
	// RetryMS is until the first delay is over; 0 = now; -1 = none is.
	RetryMS int64
	// Last is the last message that was delivered to the group.
	Last    string
	Claimed []Claimed
}

// Claimed is a message that was taken.
type Claimed struct {
	ID      string
	Attempt int64
	Message string
	Only    string // see Entry of package redis
}

// State is what a script found of a message that was delivered.
type State int64

// The states of a message.
const (
	StateGone  State = 0 // it is not pending: acknowledged, a dead letter, deleted, or never was
	StateDone  State = 1 // it was this consumer's, and what was asked is done
	StateTaken State = 2 // another consumer has it
)

// AckScript ends a delivery for good.
var AckScript = lua.Define[AckIn, bool](files, lua.Source{Name: "stream_ack", Returns: []string{"acked"}, Idempotent: true})

// AckIn is one message, of whichever consumer.
type AckIn struct {
	Keys
	GroupKeys
	Group string
	ID    string
}

// NackScript has a message delivered again after a while, or moves it to the dead letters.
var NackScript = lua.Define[NackIn, NackOut](files, lua.Source{Name: "stream_nack", Idempotent: true})

// NackIn is one message, of whichever consumer.
type NackIn struct {
	Keys
	GroupKeys
	Group         string
	ID            string
	DelayMS       int64 // -1 = exponential
	MaxDeliveries int64 // 0 = it is not known here: it is not moved for that
	Dead          bool
	Reason        string
}

// NackOut says what became of it.
type NackOut struct {
	Nacked  bool
	Dead    bool
	DelayMS int64
	Attempt int64
}

// ExtendScript starts the visibility timeout of a message again, without an attempt more. One
// that waits for its delay after a nack is gone.
var ExtendScript = lua.Define[HeldIn, State](files, lua.Source{Name: "stream_extend", Returns: []string{"state"}, Idempotent: true})

// ReturnScript gives a message back: it is delivered again at once, by any sidecar. One that
// waits for its delay after a nack goes on to wait.
var ReturnScript = lua.Define[ReturnIn, State](files, lua.Source{Name: "stream_return", Returns: []string{"state"}, Idempotent: true})

// HeldIn is one message that a consumer has.
type HeldIn struct {
	Keys
	GroupKeys
	Group    string
	Consumer string
	ID       string
}

// ReturnIn is one message that a consumer gives back.
type ReturnIn struct {
	HeldIn
	// Untouched: no client has seen it, so that its delivery was no attempt.
	Untouched bool
	Broadcast string
}
