package lua

// RatelimitDone frees the lease of a grant, and gives up a place in the line for one.
var RatelimitDone = define[RatelimitDoneIn](Source{
	Name:       "ratelimit_done",
	Keys:       []string{"leases", "holders", "line", "beats"},
	Args:       []string{"id", "session", "waiter", "inboxes"},
	Returns:    []string{"state"},
	Idempotent: true,
}, func(r *Reply) SeatState { return SeatState(r.Int()) })

// SeatState is what a lease was found to be.
type SeatState int64

// The states of a lease.
const (
	SeatGone  SeatState = 0 // it has ended, or never was
	SeatHeld  SeatState = 1 // by that session
	SeatMoved SeatState = 2 // another session holds it
)

// RatelimitDoneIn is one lease, one place in the line, or both.
type RatelimitDoneIn struct {
	Leases, Holders string // keys
	LineKeys
	ID      string // of the grant; empty = none
	Session string // whose it has to be; empty = whoever's
	Waiter  string // empty = none
	Inboxes string // what the names of the sidecars' channels begin with
}

func (in RatelimitDoneIn) keys(to []string) []string {
	return append(to, in.Leases, in.Holders, in.Line, in.Beats)
}

func (in RatelimitDoneIn) args(to []any) []any {
	return append(to, in.ID, in.Session, in.Waiter, in.Inboxes)
}

// RatelimitRenew extends the lease of a grant. With Move it is then Session's,
// whoever held it.
var RatelimitRenew = define[RatelimitRenewIn](Source{
	Name:       "ratelimit_renew",
	Keys:       []string{"leases", "holders"},
	Args:       []string{"id", "session", "hold_ms", "move", "client", "instance"},
	Returns:    []string{"state"},
	Idempotent: true,
}, func(r *Reply) SeatState { return SeatState(r.Int()) })

// RatelimitRenewIn is one lease and how long it lives from now on.
type RatelimitRenewIn struct {
	Leases, Holders string // keys
	ID, Session     string
	HoldMS          int64
	Move            bool
	// Client and Instance are of whom it moves to.
	Client, Instance string
}

func (in RatelimitRenewIn) keys(to []string) []string { return append(to, in.Leases, in.Holders) }
func (in RatelimitRenewIn) args(to []any) []any {
	return append(to, in.ID, in.Session, in.HoldMS, flag(in.Move), in.Client, in.Instance)
}
