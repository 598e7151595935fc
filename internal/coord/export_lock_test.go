package coord

// LockKey is the state of a lock, LockLine its waiting line.
func LockKey(k Keys, name string) string  { return lockKeys{k}.lock(name) }
func LockLine(k Keys, name string) string { return lineKeys(LockKey(k, name)).Line }
