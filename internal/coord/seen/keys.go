package seen

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys builds the keys of sets.
type keys struct{ coord.Keys }

// seenTag returns the hash tag of one key of a set, which is also the name of its reservation.
func seenTag(set, key string) string { return coord.Escaped(set) + ":" + coord.Escaped(key) }

// seen returns the key in Redis of one key of a set, by its tag.
func (k keys) seen(tag string) string { return k.Key(tag, "seen", "") }
