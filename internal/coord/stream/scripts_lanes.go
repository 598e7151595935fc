package stream

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// LaneKeys are what holds the lanes of a group; part_stream_lane.lua says what.
type LaneKeys struct {
	Lanes, Parked, Laned string `lua:"key"`
}

// LeadScript makes a consumer the only one that reads a group with lanes, for a time. Messages
// that were read and not parked, since the one before it ended in between, are given to it.
var LeadScript = lua.Define[LeadIn, LeadOut](files, lua.Source{Name: "stream_lead", Idempotent: true})

// LeadIn is one consumer.
type LeadIn struct {
	Keys
	LaneKeys
	Leader   string `lua:"key"`
	Group    string
	Consumer string
	LeaseMS  int64
	// After is the last message of those that were looked at; empty = none were, and none
	// are if the consumer led before.
	After string
}

// LeadOut says who reads.
type LeadOut struct {
	Missing bool // there is no such group
	Leads   bool
	// Next is for After of the next look, before anything is read; empty = all were found.
	Next    string
	Claimed []Claimed
}

// ParkScript puts messages into their lanes that the leader has read. Without the lead it does
// nothing: the next leader finds them.
var ParkScript = lua.Define[ParkIn, ParkOut](files, lua.Source{Name: "stream_park", Idempotent: true})

// ParkIn has the messages, in their order.
type ParkIn struct {
	Keys
	LaneKeys
	Leader   string `lua:"key"`
	Group    string
	Consumer string
	IDs      []string
	Within   []string // the lane of each
}

// ParkOut says how many wait.
type ParkOut struct {
	Leads  bool
	Parked int64
}

// HeadsScript are the first messages of lanes that are open. Nobody else is told of them for
// HoldMS, in which their limits are asked.
var HeadsScript = lua.Define[HeadsIn, HeadsOut](files, lua.Source{Name: "stream_heads", Idempotent: true})

// HeadsIn is one look.
type HeadsIn struct {
	Keys
	LaneKeys
	Group  string
	Count  int64
	HoldMS int64
}

// HeadsOut is what was found.
type HeadsOut struct {
	Trimmed int64 // deleted from the stream before they were delivered
	NextMS  int64 // milliseconds until the next lane is open; 0 = now; -1 = none will be
	Heads   []Head
}

// Head is the first message of a lane.
type Head struct {
	Lane    string
	ID      string
	Attempt int64
	Message string
	Only    string // see Entry of package redis
}

// AdmitScript delivers the first message of a lane, which its limit has admitted, or leaves it
// there for a while.
var AdmitScript = lua.Define[AdmitIn, bool](files, lua.Source{Name: "stream_admit", Returns: []string{"admitted"}, Idempotent: true})

// AdmitIn is one message.
type AdmitIn struct {
	Keys
	LaneKeys
	Group    string
	Consumer string
	Lane     string
	ID       string
	Attempt  int64
	WaitMS   int64 // until the lane is open again; 0 = the message is admitted
}
