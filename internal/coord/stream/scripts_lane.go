package stream

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// HeadsScript puts new messages of a group into their lanes, and finds the first messages of
// lanes that may go. Nobody else is told of these for HoldMS, in which their limits are asked.
var HeadsScript = lua.Define[HeadsIn, HeadsOut](files, lua.Source{Name: "stream_heads", Idempotent: true})

// HeadsIn names a group that delivers by key.
type HeadsIn struct {
	Keys
	GroupKeys
	Group    string
	Consumer string
	Count    int64 // how many lanes to find at most
	Most     int64 // no messages are put into lanes while so many are there
	Longest  int64 // the most bytes of a key
	HoldMS   int64
}

// HeadsOut has the first messages of lanes, and what became of messages that have no lane.
type HeadsOut struct {
	Missing bool  // there is no such group
	Dead    int64 // had no key, and were moved to the dead letters
	Trimmed int64 // deleted from the stream before they were delivered
	More    bool  // there may be more new messages
	Full    bool  // none were read, since Most or more are in lanes
	NextMS  int64 // milliseconds until the next lane may go; 0 = now; -1 = there is none
	Last    string
	Heads   []Head
}

// Head is the first message of a lane.
type Head struct{ Lane, ID string }

// AdmitScript delivers the first message of a lane, which its limit has admitted, has it wait,
// or moves it to the dead letters.
var AdmitScript = lua.Define[AdmitIn, AdmitOut](files, lua.Source{Name: "stream_admit", Idempotent: true})

// AdmitIn is one message.
type AdmitIn struct {
	Keys
	GroupKeys
	Group         string
	Consumer      string
	Lane          string
	ID            string
	WaitMS        int64 // until the lane may go; 0 = it may now
	MaxDeliveries int64
	Reason        string // of a dead letter; empty = it is none
}

// AdmitOut says what became of the message. One that is neither admitted nor dead waits in its
// lane, or another sidecar has delivered it.
type AdmitOut struct {
	Admitted bool
	Dead     bool
	Attempt  int64
	Message  string
}
