package fleet

import (
	"embed"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

//go:embed *.lua
var files embed.FS

// Keys are those of the registry; part_fleet.lua says what they hold.
type Keys struct {
	Ends, Texts string `lua:"key"`
}

// HeartbeatScript enters a sidecar, or says that it lives on. It answers false where the registry
// has as many as it may, and then enters none.
var HeartbeatScript = lua.Define[HeartbeatIn, bool](files, lua.Source{Name: "fleet_heartbeat", Returns: []string{"entered"}, Idempotent: true})

// HeartbeatIn is one sidecar and what it says of itself.
type HeartbeatIn struct {
	Keys
	Sidecar, Text string
	TTLMS         int64 // how long it counts without another heartbeat
	Most          int64 // sidecars that the registry may have
}

// LeaveScript takes a sidecar out.
var LeaveScript = lua.Define[LeaveIn, bool](files, lua.Source{Name: "fleet_leave", Returns: []string{"left"}, Idempotent: true})

// LeaveIn is one sidecar.
type LeaveIn struct {
	Keys
	Sidecar string
}

// ListScript reads some of the registry.
var ListScript = lua.Define[ListIn, ListOut](files, lua.Source{Name: "fleet_list", Idempotent: true})

// ListIn is one step through the registry, in the terms of HSCAN.
type ListIn struct {
	Keys
	Cursor string // 0 = from the start
	Count  int64
}

// ListOut has the sidecars that one step found. A Cursor of 0 says that this was the last step.
type ListOut struct {
	Cursor  string
	Total   int64 // of the whole registry
	Entries []Entry
}

// Entry is one sidecar that lives.
type Entry struct {
	Sidecar, Text string
	LeftUS        int64 // how long it counts without another heartbeat
}
