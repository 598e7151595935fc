package lease

// State is the state in which the scripts that renew and release find a lease.
type State int64

// The values of State, as the scripts return them.
const (
	// StateExpired: no token holds the lease, and this token did not release it last.
	StateExpired State = 0
	// StateOwned: this token held the lease, and the script renewed or released it.
	StateOwned State = 1
	// StateNotOwner: another token holds the lease.
	StateNotOwner State = 2
	// StateReleased: no token holds the lease, and this token was the last to release it.
	StateReleased State = 3
	// StateMoved: this token holds the lease, but it is bound to another session, by a repeated request.
	StateMoved State = 4
)
