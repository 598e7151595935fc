package coord

// lockKeys are those of locks.
type lockKeys struct{ Keys }

// kindLock is what the key of a lock ends with.
const kindLock = "lock"

// lock is a lock's state. Its tag has no colon and a limit's always has one, so
// that a lock and a limit of one name do not even share a slot.
func (k lockKeys) lock(name string) string {
	return k.key(Escaped(name), kindLock, "")
}

// lockName is whose state a key is, if it is a lock's.
func (k lockKeys) lockName(key string) (string, bool) {
	tag, kind, ok := k.split(key)
	return unescaped(tag), ok && kind == kindLock && isEscaped(tag)
}

// locks is the pattern of all locks' keys, for SCAN.
func (k lockKeys) locks() string { return k.pattern(kindLock) }
