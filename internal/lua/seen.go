package lua

// SeenReserve reserves a key of a set, or says that it is reserved or done.
// Repeated with the same token it answers the same.
var SeenReserve = Define[SeenReserveIn, SeenReserveOut](files, Source{
	Name:       "seen_reserve",
	Idempotent: true,
	Latched:    true,
})

// SeenReserveIn is one try to reserve a key.
type SeenReserveIn struct {
	Seen    string `lua:"key"`
	Token   string // of this reservation alone
	TTLMS   int64
	Session string // empty = it is bound to its TTL
}

// SeenWas is what a key was when someone wanted to reserve it.
type SeenWas int64

// What a key may have been.
const (
	SeenNew      SeenWas = 0
	SeenReserved SeenWas = 1
	SeenDone     SeenWas = 2
)

// SeenReserveOut is a reservation, or what is in the way.
type SeenReserveOut struct {
	Reserved bool
	Was      SeenWas
	// LeftMS is what the reservation has left, rounded down; when it was not made,
	// until the key may be reserved, rounded up.
	LeftMS int64
}

// SeenState is what became of a reservation.
type SeenState int64

// The states of a reservation.
const (
	SeenGone      SeenState = 0 // it ended, or never was
	SeenHeld      SeenState = 1 // it was held, and what was asked is done
	SeenMoved     SeenState = 2 // another session holds it
	SeenReleased  SeenState = 3 // it was given up before
	SeenCommitted SeenState = 4 // it was committed before
)

// SeenRenew extends a reservation. With Move it is then Session's, whoever held it.
var SeenRenew = Define[SeenRenewIn, SeenState](files, Source{
	Name:       "seen_renew",
	Returns:    []string{"state"},
	Idempotent: true,
})

// SeenRenewIn is one reservation and how long it lives from now on.
type SeenRenewIn struct {
	Seen           string `lua:"key"`
	Token, Session string // an empty Session is any, or, with Move, none
	TTLMS          int64  // from now; it never shortens what is left
	Move           bool
}

// SeenCommit remembers what was reserved as done.
var SeenCommit = Define[SeenCommitIn, SeenState](files, Source{
	Name:       "seen_commit",
	Returns:    []string{"state"},
	Idempotent: true,
})

// SeenCommitIn is one reservation, and how long it is remembered.
type SeenCommitIn struct {
	Seen   string `lua:"key"`
	Token  string
	KeepMS int64
}

// SeenRelease gives a reservation up.
var SeenRelease = Define[SeenReleaseIn, SeenState](files, Source{
	Name:       "seen_release",
	Returns:    []string{"state"},
	Idempotent: true,
})

// SeenReleaseIn is one reservation.
type SeenReleaseIn struct {
	Seen    string `lua:"key"`
	Token   string
	Session string // whose it has to be; empty = whoever's
}
