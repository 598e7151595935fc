package lua

// LockState is what renew and release found.
type LockState int64

// What renew and release find, as the scripts return it.
const (
	// LockExpired: nobody holds it, and this token was its last owner or nobody knows.
	LockExpired LockState = 0
	// LockOwned: this token held it, and what was asked is done.
	LockOwned LockState = 1
	// LockNotOwner: someone else holds it.
	LockNotOwner LockState = 2
	// LockReleased: this token was its last owner and gave it back.
	LockReleased LockState = 3
	// LockMoved: this token holds it, bound to another session by a replay.
	LockMoved LockState = 4
)
