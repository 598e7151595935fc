package stream

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// HeadsScript puts new messages of a group into their lanes, and returns the first messages of
// lanes that are due. It does not return those to another caller for HoldMS, in which this caller
// asks their limits.
var HeadsScript = lua.Define[HeadsIn, HeadsOut](files, lua.Source{Name: "stream_heads", Idempotent: true})

// HeadsIn names a group that delivers by key.
type HeadsIn struct {
	Keys
	GroupKeys
	Group    string
	Consumer string
	Count    int64 // the most lanes to return
	Most     int64 // no messages are put into lanes while the lanes have this many
	Longest  int64 // the most bytes of a key
	HoldMS   int64
}

// HeadsOut has the first messages of lanes, and counts the messages that got no lane.
type HeadsOut struct {
	Missing bool  // there is no such group
	Dead    int64 // messages that had no valid key, and were moved to the dead letters
	Trimmed int64 // messages that were deleted from the stream before they were delivered
	More    bool  // there may be more new messages
	Full    bool  // no new messages were read, since the lanes have Most or more
	NextMS  int64 // milliseconds until the next lane is due; 0 = now; -1 = there are no lanes
	Last    string
	Heads   []Head
}

// Head is the first message of a lane.
type Head struct{ Lane, ID string }

// AdmitScript delivers the first message of a lane if its limit admitted it, makes its lane wait if
// the limit refused it, or moves the message to the dead letters.
var AdmitScript = lua.Define[AdmitIn, AdmitOut](files, lua.Source{Name: "stream_admit", Idempotent: true})

// AdmitIn is one message.
type AdmitIn struct {
	Keys
	GroupKeys
	Group         string
	Consumer      string
	Lane          string
	ID            string
	WaitMS        int64 // how long the lane is to wait; 0 = the message is admitted
	MaxDeliveries int64
	Reason        string // why it is to be a dead letter; empty = it is not
}

// AdmitOut is the outcome. A message that is neither admitted nor dead waits in its lane, was
// deleted, or was delivered by another sidecar.
type AdmitOut struct {
	Admitted bool
	Dead     bool
	Attempt  int64
	Message  string
}
