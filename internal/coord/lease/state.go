package lease

// State is the state in which renew and release found a lease.
type State int64

// What renew and release find, as the scripts return it.
const (
	// StateExpired: nobody holds it, and this token was its last owner or nobody knows.
	StateExpired State = 0
	// StateOwned: this token held it, and what was asked is done.
	StateOwned State = 1
	// StateNotOwner: someone else holds it.
	StateNotOwner State = 2
	// StateReleased: this token was its last owner and gave it back.
	StateReleased State = 3
	// StateMoved: this token holds it, bound to another session by a replay.
	StateMoved State = 4
)
