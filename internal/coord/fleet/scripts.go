package fleet

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are the keys of the registry; part_fleet.lua describes them.
type Keys struct {
	Ends, Texts string `lua:"key"`
}

// HeartbeatScript enters a sidecar into the registry, or extends its entry. If the registry is full, it enters none
// and returns false.
var HeartbeatScript = lua.Define[HeartbeatIn, bool](files, lua.Source{Name: "fleet_heartbeat", Returns: []string{"entered"}, Idempotent: true})

// HeartbeatIn is one sidecar and the text that describes it.
type HeartbeatIn struct {
	Keys
	Sidecar, Text string
	TTLMS         int64 // until its entry ends, unless another heartbeat comes
	Most          int64 // the largest number of sidecars in the registry
}

// LeaveScript removes a sidecar from the registry.
var LeaveScript = lua.Define[LeaveIn, bool](files, lua.Source{Name: "fleet_leave", Returns: []string{"left"}, Idempotent: true})

// LeaveIn is one sidecar.
type LeaveIn struct {
	Keys
	Sidecar string
}

// ListScript reads one page of the registry.
var ListScript = lua.Define[ListIn, ListOut](files, lua.Source{Name: "fleet_list", Idempotent: true})

// ListIn is one step through the registry, in the terms of HSCAN.
type ListIn struct {
	Keys
	Cursor string // 0 = from the start
	Count  int64
}

// ListOut has the sidecars that one step found. A Cursor of 0 means that this was the last step.
type ListOut struct {
	Cursor  string
	Total   int64 // sidecars in the whole registry
	Entries []Entry
}

// Entry is one sidecar whose entry has not ended.
type Entry struct {
	Sidecar, Text string
	LeftUS        int64 // until its entry ends, unless another heartbeat comes
}
