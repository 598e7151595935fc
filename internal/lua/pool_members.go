package lua

// PoolPut adds members, and replaces the meta of those that are there.
var PoolPut = define[PoolPutIn](Source{
	Name:       "pool_put",
	Keys:       poolKeys,
	Args:       []string{"most", "inboxes", "list"},
	Returns:    []string{"added", "total"},
	Idempotent: true,
}, func(r *Reply) PoolPutOut { return PoolPutOut{Added: r.Int(), Total: r.Int()} })

// PoolMember is a member and what is given to who acquires it.
type PoolMember struct{ ID, Meta string }

// PoolPutIn are 1 to 1,000 members, all in one run: a pool that would have too
// many gets none of them.
type PoolPutIn struct {
	PoolKeys
	Most    int64 // members that a pool may have
	Inboxes string
	Members []PoolMember
}

func (in PoolPutIn) args(to []any) []any {
	list := make([]string, 0, 2*len(in.Members))
	for _, m := range in.Members {
		list = append(list, m.ID, m.Meta)
	}
	return append(to, in.Most, in.Inboxes, texts(list))
}

// PoolPutOut says what was new; an Added of -1 says that there would be more than
// Most, and that nothing was done.
type PoolPutOut struct{ Added, Total int64 }

// PoolRemove removes members and forgets their state.
var PoolRemove = define[PoolRemoveIn](Source{
	Name:       "pool_remove",
	Keys:       poolKeys,
	Args:       []string{"ids"},
	Returns:    []string{"removed", "total"},
	Idempotent: true,
}, func(r *Reply) PoolRemoveOut { return PoolRemoveOut{Removed: r.Int(), Total: r.Int()} })

// PoolRemoveIn are 1 to 500 members.
type PoolRemoveIn struct {
	PoolKeys
	IDs []string
}

func (in PoolRemoveIn) args(to []any) []any { return append(to, texts(in.IDs)) }

// PoolRemoveOut says what was there.
type PoolRemoveOut struct{ Removed, Total int64 }

// PoolList reads members in the order in which they came.
var PoolList = define[PoolListIn](Source{
	Name: "pool_list",
	Keys: names(poolKeys, []string{"used"}),
	Args: []string{"after", "count"},
	Returns: []string{
		"now_us", "cursor", "members", "then",
		"id", "meta", "lease_us", "since_us", "client", "instance", "cool_us", "ban_us", "failures", "last_us", "pause_us", "breaker",
	},
	Idempotent: true,
}, func(r *Reply) PoolListOut {
	out := PoolListOut{NowUS: r.Int(), Cursor: r.Int()}
	for range r.Int() {
		out.Members = append(out.Members, PoolMemberView{
			PoolMember: PoolMember{ID: r.Str(), Meta: r.Str()}, LeaseUS: r.Int(), SinceUS: r.Int(),
			Client: r.Str(), Instance: r.Str(), CoolUS: r.Int(), BanUS: r.Int(), Failures: r.Int(),
			LastUS: r.Int(), PauseUS: r.Int(), Breaker: r.Str(),
		})
	}
	return out
})

// PoolListIn is one page: at most 250 members after a cursor, 0 = from the start.
type PoolListIn struct {
	PoolKeys
	Used         string // key, of the scope whose use and cooldowns are shown
	After, Count int64
}

func (in PoolListIn) keys(to []string) []string { return append(in.PoolKeys.keys(to), in.Used) }
func (in PoolListIn) args(to []any) []any       { return append(to, in.After, in.Count) }

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
var PoolStats = define[PoolStatsIn](Source{
	Name:       "pool_stats",
	Keys:       names(poolKeys, []string{"used", "line"}),
	Args:       []string{"after", "count"},
	Returns:    []string{"cursor", "live", "cooling", "banned", "free", "waiting"},
	Idempotent: true,
}, func(r *Reply) PoolStatsOut {
	return PoolStatsOut{Cursor: r.Int(), Live: r.Int(), Cooling: r.Int(), Banned: r.Int(), Free: r.Int(), Waiting: r.Int()}
})

// PoolStatsIn is one page: at most 500 members after a cursor, 0 = from the start.
type PoolStatsIn struct {
	PoolKeys
	Used, Line   string // keys
	After, Count int64
}

func (in PoolStatsIn) keys(to []string) []string {
	return append(in.PoolKeys.keys(to), in.Used, in.Line)
}
func (in PoolStatsIn) args(to []any) []any { return append(to, in.After, in.Count) }

// PoolStatsOut counts each member of the page once; a Cursor of 0 says that it was
// the last page. Waiting is of the whole line, whatever the page.
type PoolStatsOut struct{ Cursor, Live, Cooling, Banned, Free, Waiting int64 }

// PoolBan bans a member or lifts its ban, which also forgets its failures and
// cooldowns.
var PoolBan = define[PoolBanIn](Source{
	Name:       "pool_ban",
	Keys:       poolKeys,
	Args:       []string{"member", "ban", "for_ms", "inboxes"},
	Returns:    []string{"found", "changed"},
	Idempotent: true,
}, readPoolChange)

func readPoolChange(r *Reply) PoolChangeOut { return PoolChangeOut{Found: r.Bool(), Changed: r.Bool()} }

// PoolBanIn is one member, and whether it is banned from now on, for ForMS or with
// 0 without an end.
type PoolBanIn struct {
	PoolKeys
	Member  string
	Ban     bool
	ForMS   int64
	Inboxes string
}

func (in PoolBanIn) args(to []any) []any {
	return append(to, in.Member, flag(in.Ban), in.ForMS, in.Inboxes)
}

// PoolChangeOut says whether there is such a member, and whether it was not so before.
type PoolChangeOut struct{ Found, Changed bool }

// PoolPause holds up permits of a member until an instant, as ratelimit_pause does
// a key, or no longer. Of several pauses the longest counts.
var PoolPause = define[PoolPauseIn](Source{
	Name:       "pool_pause",
	Keys:       poolKeys,
	Args:       []string{"member", "for_us", "until_us", "longest_us", "resume", "inboxes"},
	Returns:    []string{"found", "until_us", "changed", "now_us"},
	Idempotent: true,
}, func(r *Reply) PoolPauseOut {
	return PoolPauseOut{Found: r.Bool(), RatelimitPauseOut: RatelimitPauseOut{UntilUS: r.Int(), Changed: r.Bool(), NowUS: r.Int()}}
})

// PoolPauseIn is one pause, in the terms of RatelimitPauseIn, or with Resume the
// end of whichever there is.
type PoolPauseIn struct {
	PoolKeys
	Member                    string
	ForUS, UntilUS, LongestUS int64
	Resume                    bool
	Inboxes                   string
}

func (in PoolPauseIn) args(to []any) []any {
	return append(to, in.Member, in.ForUS, in.UntilUS, in.LongestUS, flag(in.Resume), in.Inboxes)
}

// PoolPauseOut is the pause in force, as RatelimitPauseOut says.
type PoolPauseOut struct {
	Found bool
	RatelimitPauseOut
}

// PoolTouch says that a member may be possible earlier than views believe, since
// its breaker was changed by another script: they look at it again.
var PoolTouch = define[PoolTouchIn](Source{
	Name:       "pool_touch",
	Keys:       poolKeys,
	Args:       []string{"member", "inboxes"},
	Returns:    []string{"found", "changed"},
	Idempotent: true,
}, readPoolChange)

// PoolTouchIn is one member.
type PoolTouchIn struct {
	PoolKeys
	Member, Inboxes string
}

func (in PoolTouchIn) args(to []any) []any { return append(to, in.Member, in.Inboxes) }
