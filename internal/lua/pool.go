package lua

// PoolKeys are what a pool has, whatever is asked of it.
type PoolKeys struct {
	Order   string // sorted set: member by when it came; see prelude_pool.lua
	Meta    string // hash: what was put with each member
	Changes string // sorted set: member by its last change, which views follow
	Members string // hash: the state of each member
	Leased  string // sorted set: member by when its lease ends, us
}

func (k PoolKeys) keys(to []string) []string {
	return append(to, k.Order, k.Meta, k.Changes, k.Members, k.Leased)
}

// ViewKeys are what one view of a pool has: a view is what acquisitions have in
// common that ask the same of members, hence the same scope, rule and policy.
type ViewKeys struct {
	Idle string // sorted set: members that may be possible now, by their last use
	Away string // sorted set: the others, by when each is next possible, us
	Used string // hash of the scope: the last use and the cooldown of each member in it
	Seen string // string: the last change that the view has followed
	LineKeys
}

func (k ViewKeys) keys(to []string) []string {
	return append(to, k.Idle, k.Away, k.Used, k.Seen, k.Line, k.Beats)
}
