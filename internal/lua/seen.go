package lua

// SeenReserve reserves a key of a set, or says that it is reserved or done.
// Repeated with the same token it answers the same.
var SeenReserve = define[SeenReserveIn](Source{
	Name: "seen_reserve", Keys: []string{"seen"}, Args: []string{"token", "ttl_ms", "session"},
	Returns: []string{"reserved", "was", "left_ms"}, Idempotent: true, Latched: true,
}, func(r *Reply) SeenReserveOut {
	return SeenReserveOut{Reserved: r.Bool(), Was: SeenWas(r.Int()), LeftMS: r.Int()}
})

// SeenReserveIn is one try to reserve a key.
type SeenReserveIn struct {
	Seen    string // key
	Token   string
	TTLMS   int64
	Session string // empty = it is bound to its TTL
}

func (in SeenReserveIn) keys(to []string) []string { return append(to, in.Seen) }
func (in SeenReserveIn) args(to []any) []any       { return append(to, in.Token, in.TTLMS, in.Session) }

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
	// LeftMS is what the reservation has left, rounded down, or else when what is in
	// the way ends, rounded up.
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

func seenState(r *Reply) SeenState { return SeenState(r.Int()) }

// SeenRenew extends a reservation. With Move it is then Session's, whoever held it.
var SeenRenew = define[SeenRenewIn](Source{
	Name: "seen_renew", Keys: []string{"seen"}, Args: []string{"token", "session", "ttl_ms", "move"},
	Returns: []string{"state"}, Idempotent: true,
}, seenState)

// SeenRenewIn is one reservation and how long it lives from now on.
type SeenRenewIn struct {
	Seen           string // key
	Token, Session string // an empty Session is any, or, with Move, none
	TTLMS          int64
	Move           bool
}

func (in SeenRenewIn) keys(to []string) []string { return append(to, in.Seen) }
func (in SeenRenewIn) args(to []any) []any {
	return append(to, in.Token, in.Session, in.TTLMS, flag(in.Move))
}

// SeenCommit remembers what was reserved as done.
var SeenCommit = define[SeenCommitIn](Source{
	Name: "seen_commit", Keys: []string{"seen"}, Args: []string{"token", "keep_ms"}, Returns: []string{"state"}, Idempotent: true,
}, seenState)

// SeenCommitIn is one reservation, and how long it is remembered.
type SeenCommitIn struct {
	Seen   string // key
	Token  string
	KeepMS int64
}

func (in SeenCommitIn) keys(to []string) []string { return append(to, in.Seen) }
func (in SeenCommitIn) args(to []any) []any       { return append(to, in.Token, in.KeepMS) }

// SeenRelease gives a reservation up.
var SeenRelease = define[SeenReleaseIn](Source{
	Name: "seen_release", Keys: []string{"seen"}, Args: []string{"token", "session"}, Returns: []string{"state"}, Idempotent: true,
}, seenState)

// SeenReleaseIn is one reservation.
type SeenReleaseIn struct {
	Seen    string // key
	Token   string
	Session string // whose it has to be; empty = whoever's
}

func (in SeenReleaseIn) keys(to []string) []string { return append(to, in.Seen) }
func (in SeenReleaseIn) args(to []any) []any       { return append(to, in.Token, in.Session) }
