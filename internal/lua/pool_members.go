package lua

// PoolPut adds members, and replaces the meta of those that are there.
var PoolPut = Define[PoolPutIn, PoolPutOut](files, Source{
	Name:       "pool_put",
	Idempotent: true,
})

// PoolMember is a member and what is given to who acquires it.
type PoolMember struct{ ID, Meta string }

// PoolPutIn are 1 to 1,000 members, all in one run: a pool that would have too
// many gets none of them.
type PoolPutIn struct {
	PoolKeys `lua:"table"`
	Most     int64 // members that a pool may have
	Inboxes  string
	// List has the id and the meta of each member, one after the other.
	List []string
}

// PoolPutOut says what was new; an Added of -1 says that there would be more than
// Most, and that nothing was done.
type PoolPutOut struct{ Added, Total int64 }

// PoolRemove removes members and forgets their state.
var PoolRemove = Define[PoolRemoveIn, PoolRemoveOut](files, Source{
	Name:       "pool_remove",
	Idempotent: true,
})

// PoolRemoveIn are 1 to 500 members.
type PoolRemoveIn struct {
	PoolKeys `lua:"table"`
	IDs      []string
}

// PoolRemoveOut says what was there.
type PoolRemoveOut struct{ Removed, Total int64 }

// PoolList reads members in the order in which they came.
var PoolList = Define[PoolListIn, PoolListOut](files, Source{
	Name:       "pool_list",
	Idempotent: true,
})

// PoolListIn is one page: at most 250 members after a cursor, 0 = from the start.
type PoolListIn struct {
	PoolKeys     `lua:"table"`
	Used         string `lua:"key"` // of the scope whose use and cooldowns are shown
	After, Count int64
}

// PoolListOut is one page; a Cursor of 0 says that it was the last.
type PoolListOut struct {
	NowUS, Cursor int64
	Members       []PoolMemberView
}

// PoolMemberView is one member. All times are instants in us, 0 = not at all or
// over; a BanUS of -1 has no end.
type PoolMemberView struct {
	PoolMember
	LeaseUS, SinceUS int64 // until when it is leased, and since when
	Client, Instance string
	CoolUS, BanUS    int64
	Failures         int64 // in a row, those of the transport too
	LastUS, PauseUS  int64
	Breaker          string // its breaker's state, empty when it has none
}

// PoolStats counts members, a page at a time: the sums of all pages are the pool's.
var PoolStats = Define[PoolStatsIn, PoolStatsOut](files, Source{
	Name:       "pool_stats",
	Idempotent: true,
})

// PoolStatsIn is one page: at most 500 members after a cursor, 0 = from the start.
type PoolStatsIn struct {
	PoolKeys     `lua:"table"`
	Used, Line   string `lua:"key"`
	After, Count int64
}

// PoolStatsOut counts each member of the page once; a Cursor of 0 says that it was
// the last page. Waiting is of the whole line, whatever the page.
type PoolStatsOut struct{ Cursor, Live, Cooling, Banned, Free, Waiting int64 }

// PoolBan bans a member or lifts its ban, which also forgets its failures and
// cooldowns.
var PoolBan = Define[PoolBanIn, PoolChangeOut](files, Source{
	Name:       "pool_ban",
	Idempotent: true,
})

// PoolBanIn is one member, and whether it is banned from now on, for ForMS or with
// 0 without an end.
type PoolBanIn struct {
	PoolKeys `lua:"table"`
	Member   string
	Ban      bool
	ForMS    int64
	Inboxes  string
}

// PoolChangeOut says whether there is such a member, and whether it was not so before.
type PoolChangeOut struct{ Found, Changed bool }

// PoolPause holds up permits of a member until an instant, as ratelimit_pause does
// a key, or no longer. Of several pauses the longest counts.
var PoolPause = Define[PoolPauseIn, PoolPauseOut](files, Source{
	Name:       "pool_pause",
	Idempotent: true,
})

// PoolPauseIn is one pause, in the terms of RatelimitPauseIn, or with Resume the
// end of whichever there is.
type PoolPauseIn struct {
	PoolKeys                  `lua:"table"`
	Member                    string
	ForUS, UntilUS, LongestUS int64
	Resume                    bool
	Inboxes                   string
}

// PoolPauseOut is the pause in force, as RatelimitPauseOut says.
type PoolPauseOut struct {
	Found bool
	RatelimitPauseOut
}

// PoolTouch says that a member may be possible earlier than views believe, since
// its breaker was changed by another script: they look at it again.
var PoolTouch = Define[PoolTouchIn, PoolChangeOut](files, Source{
	Name:       "pool_touch",
	Idempotent: true,
})

// PoolTouchIn is one member.
type PoolTouchIn struct {
	PoolKeys        `lua:"table"`
	Member, Inboxes string
}
