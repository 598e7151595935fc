package stream

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are the keys of a stream; part_stream.lua describes them. All have the same hash tag.
type Keys struct {
	Log, Dead, Groups string `lua:"key"`
}

// GroupKeys are the keys of a group, under the hash tag of its stream. part_stream.lua describes
// Retry, part_lane.lua the others.
type GroupKeys struct {
	Retry, Lanes, Parked, Laned string `lua:"key"`
}

// DelayedKeys are the keys of the messages of a stream that are not due; part_stream_add.lua
// describes them.
type DelayedKeys struct {
	Due, Delayed string `lua:"key"`
}

// PublishScript adds a message to the end of a stream, or to its messages that are not due.
var PublishScript = lua.Define[PublishIn, PublishOut](files, lua.Source{Name: "stream_publish", StoresReply: true})

// PublishIn is one message.
type PublishIn struct {
	Keys
	DelayedKeys
	Dedupe   string `lua:"key,optional"` // empty = there is no dedupe id
	Message  string // as encoded by envelope
	DedupeMS int64
	MaxLen   int64 // about how many messages the stream keeps when the message is added; 0 = all
	DelayMS  int64
	// Broadcast is the channel of all sidecars. The script publishes there when the message is
	// due before all other delayed messages of the stream.
	Broadcast string
}

// PublishOut is the outcome.
type PublishOut struct {
	Published bool   // false = a message with its dedupe id was published before
	ID        string // empty = this message, or the earlier one with its dedupe id, was delayed
	DueMS     int64  // Unix milliseconds; 0 = it was added at once
}

// DueScript adds messages whose delay is over to their stream: at most 100 in one run, and about
// 1 MiB.
var DueScript = lua.Define[DueIn, DueOut](files, lua.Source{Name: "stream_due", Idempotent: true})

// DueIn is one stream.
type DueIn struct {
	Keys
	DelayedKeys
}

// DueOut is the outcome, with the time of the next run.
type DueOut struct {
	Added  int64
	NextMS int64 // milliseconds until the next message is due; 0 = now; -1 = none waits
}

// OpenScript makes a group if it does not exist. A group that was lost begins where it was, or at
// the end of the stream if the stream ends before that.
var OpenScript = lua.Define[OpenIn, OpenOut](files, lua.Source{Name: "stream_open", Idempotent: true})

// OpenIn is one group.
type OpenIn struct {
	Keys
	GroupKeys
	Group string
	// From is the last message that the sidecar knows to have been delivered; for a new group, 0-0
	// to begin with the first message, or $ to begin with the messages to come.
	From string
	// Field names the field of messages that has their key; empty = the group does not deliver
	// by key.
	Field string
}

// OpenOut is the outcome.
type OpenOut struct {
	Created bool
	Last    string // the last message that was delivered to the group
	// By is the field by which the group delivers. If it differs from Field of OpenIn, the script
	// changed nothing.
	By string
}

// ClaimScript takes messages that were delivered and are to be delivered again: those whose
// delay after a nack is over, and those whose visibility timeout is over. It moves those that had
// their last attempt to the dead letters, and acknowledges a redriven message that is for another
// group.
var ClaimScript = lua.Define[ClaimIn, ClaimOut](files, lua.Source{Name: "stream_claim", Idempotent: true})

// ClaimIn is one look at the pending messages of a group.
type ClaimIn struct {
	Keys
	GroupKeys
	Group         string
	Consumer      string
	VisibilityMS  int64
	MaxDeliveries int64
	Count         int64  // the most to take, up to 100; 0 = only move messages to the dead letters
	After         string // the message after which to begin; empty = with the first
}

// ClaimOut is the outcome.
type ClaimOut struct {
	Missing bool  // there is no such group
	Dead    int64 // moved to the dead letters
	Trimmed int64 // deleted from the stream before they were acknowledged
	// Next is After of the next run; empty = all pending messages have been looked at.
	Next string
	// More reports that messages that are to be delivered were left, since Count or 1 MiB was
	// reached.
	More bool
	// RetryMS is the time until the first delay is over; 0 = now; -1 = no message has a delay.
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

// State is the state in which a script found a message that a consumer holds.
type State int64

// The states of a message.
const (
	StateGone  State = 0 // it is not pending: acknowledged, a dead letter, deleted, or never delivered
	StateDone  State = 1 // this consumer held it, and the script did what was asked
	StateTaken State = 2 // another consumer holds it
)

// AckScript ends a delivery for good.
var AckScript = lua.Define[AckIn, bool](files, lua.Source{Name: "stream_ack", Returns: []string{"acked"}, Idempotent: true})

// AckIn is one message, whichever consumer holds it.
type AckIn struct {
	Keys
	GroupKeys
	Group string
	ID    string
}

// NackScript makes a message wait for a delay before it is delivered again, or moves it to the dead
// letters.
var NackScript = lua.Define[NackIn, NackOut](files, lua.Source{Name: "stream_nack", Idempotent: true})

// NackIn is one message, whichever consumer holds it.
type NackIn struct {
	Keys
	GroupKeys
	Group         string
	ID            string
	DelayMS       int64 // -1 = exponential
	MaxDeliveries int64 // 0 = unknown: the number of attempts does not make it a dead letter
	Dead          bool
	Reason        string
}

// NackOut is the outcome.
type NackOut struct {
	Nacked  bool
	Dead    bool
	DelayMS int64
	Attempt int64
}

// ExtendScript starts the visibility timeout of a message again, and does not count an attempt. A
// message that waits for its delay after a nack is StateGone.
var ExtendScript = lua.Define[HeldIn, State](files, lua.Source{Name: "stream_extend", Returns: []string{"state"}, Idempotent: true})

// ReturnScript gives a message back: any sidecar can deliver it again at once. A message that waits
// for its delay after a nack continues to wait.
var ReturnScript = lua.Define[ReturnIn, State](files, lua.Source{Name: "stream_return", Returns: []string{"state"}, Idempotent: true})

// HeldIn is one message, and the consumer that holds it.
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
	// Untouched reports that the message was not sent to a client, so that its delivery does not
	// count as an attempt.
	Untouched bool
	Broadcast string
}
