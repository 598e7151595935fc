package pool

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// PutScript adds members, and replaces the meta of those that the pool already has.
var PutScript = lua.Define[PutIn, PutOut](files, lua.Source{
	Name:       "pool_put",
	Idempotent: true,
})

// Member is a member and its meta, which callers that acquire it get.
type Member struct{ ID, Meta string }

// PutIn are 1 to 1,000 members, all in one run: a pool that would have too
// many gets none of them.
type PutIn struct {
	Pool    Keys  `lua:"table"`
	Most    int64 // members that a pool may have
	Inboxes string
	// List has the id and the meta of each member, one after the other.
	List []string
}

// PutOut counts the members that are new; an Added of -1 = the pool would have more than
// Most members, so nothing was done.
type PutOut struct{ Added, Total int64 }

// RemoveScript removes members and their state.
var RemoveScript = lua.Define[RemoveIn, RemoveOut](files, lua.Source{
	Name:       "pool_remove",
	Idempotent: true,
})

// RemoveIn are 1 to 500 members.
type RemoveIn struct {
	Pool Keys `lua:"table"`
	IDs  []string
}

// RemoveOut counts the members that were removed, and those that are left.
type RemoveOut struct{ Removed, Total int64 }

// ListScript reads members in the order in which they were added.
var ListScript = lua.Define[ListIn, ListOut](files, lua.Source{
	Name:       "pool_list",
	Idempotent: true,
})

// ListIn is one page: at most 250 members after a cursor, 0 = from the start.
type ListIn struct {
	Pool         Keys   `lua:"table"`
	Used         string `lua:"key"` // of the scope whose use and cooldowns are shown
	After, Count int64
}

// ListOut is one page; a Cursor of 0 = it was the last.
type ListOut struct {
	NowUS, Cursor int64
	Members       []MemberView
}

// MemberView is one member. All times are instants in us, 0 = none, or over;
// a BanUS of -1 has no end.
type MemberView struct {
	Member
	LeaseUS, SinceUS int64 // until when it is leased, and since when
	Client, Instance string
	CoolUS, BanUS    int64
	Failures         int64 // in a row, those of the transport too
	LastUS, PauseUS  int64
	Breaker          string // its breaker's state, empty when it has none
}

// StatsScript counts members, a page at a time: the sums of all pages are the pool's.
var StatsScript = lua.Define[StatsIn, StatsOut](files, lua.Source{
	Name:       "pool_stats",
	Idempotent: true,
})

// StatsIn is one page: at most 500 members after a cursor, 0 = from the start.
type StatsIn struct {
	Pool         Keys   `lua:"table"`
	Used, Line   string `lua:"key"`
	After, Count int64
	Most         int64 // holders to be returned
}

// StatsOut counts each member of the page once; a Cursor of 0 says that it was
// the last page. Waiting is of the whole line, and Lines of the pool, whatever the page.
type StatsOut struct {
	Cursor, Live, Cooling, Banned, Free, Waiting int64
	Open                                         int64    // breakers that are open or forced open
	Lines                                        int64    // waiting lines that are not empty, see part_pool_wake.lua
	Holders                                      []Holder // by when their leases end
}

// Holder is a client that holds a member.
type Holder struct {
	ID               string
	LeftUS           int64
	Client, Instance string
	SinceMS          int64
}

// BanScript bans a member or lifts its ban, which also resets its failures and
// cooldowns.
var BanScript = lua.Define[BanIn, ChangeOut](files, lua.Source{
	Name:       "pool_ban",
	Idempotent: true,
})

// BanIn is one member, and whether it is banned from now on, for ForMS or with
// 0 without an end.
type BanIn struct {
	Pool    Keys `lua:"table"`
	Member  string
	Ban     bool
	ForMS   int64
	Inboxes string
}

// ChangeOut is whether there is such a member, and whether the script changed it.
type ChangeOut struct{ Found, Changed bool }

// PauseScript pauses a member until an instant, as ratelimit_pause does a key, or ends its pause. While it is
// paused, no permits of it are given out. Of several pauses the longest counts.
var PauseScript = lua.Define[PauseIn, PauseOut](files, lua.Source{
	Name:       "pool_pause",
	Idempotent: true,
})

// PauseIn is one pause, with fields as in ratelimit.PauseIn. With Resume the script ends the
// current pause, if any.
type PauseIn struct {
	Pool                      Keys `lua:"table"`
	Member                    string
	ForUS, UntilUS, LongestUS int64
	Resume                    bool
	Inboxes                   string
}

// PauseOut is the pause in force, as in coord.PauseOut.
type PauseOut struct {
	Found bool
	coord.PauseOut
}

// TouchScript makes all views of a pool judge a member again. It is run after another script changed the
// member's breaker, since the member may be available earlier than the views have it.
var TouchScript = lua.Define[TouchIn, ChangeOut](files, lua.Source{
	Name:       "pool_touch",
	Idempotent: true,
})

// TouchIn is one member.
type TouchIn struct {
	Pool            Keys `lua:"table"`
	Member, Inboxes string
}

// ExplainScript judges members as an acquisition would, a page at a time.
var ExplainScript = lua.Define[ExplainIn, ExplainOut](files, lua.Source{
	Name:       "pool_explain",
	Idempotent: true,
})

// ExplainIn is one page: at most 250 members after a cursor, 0 = from the start; or only
// Member. With Permit it also has the terms of PermitAcquireIn.
type ExplainIn struct {
	Pool Keys   `lua:"table"`
	Used string `lua:"key"`
	lease.LineKeys
	Buckets      string `lua:"key"`
	After, Count int64
	Member       string   // empty = the page
	Exclude      []string // members, at most 100
	Permit       bool
	Cost         int64
	Revision     int64
	Signature    string
	Overrides    []string
	Policy       string
	Most         int64 // holders to be returned
}

// ExplainOut is the judgement of a page; a Cursor of 0 = it was the last. Waiting and Standing are of the whole line,
// on each page.
type ExplainOut struct {
	Cursor        int64
	Members, Free int64  // members that were judged; those that are available now
	ID            string // the least recently used of those available, empty = none
	LastUS        int64  // its last use, for comparing pages
	Reasons       []ExplainReason
	Holders       []Holder // by when their leases end
	Waiting       int64    // tickets in the waiting line, those of dead sidecars too until they come first
	Standing      []lease.LineView
}

// ExplainReason is one reason why members are not available. Each member counts under the reason that lasts longest.
type ExplainReason struct {
	Reason  string // as of AcquireOut
	Members int64
	ID      string // the member that is available first
	AfterUS int64  // until then; -1 = never, unless something changes
}
