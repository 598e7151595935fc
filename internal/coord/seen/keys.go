package seen

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys are those of sets of keys that were seen.
type keys struct{ coord.Keys }

// seenTag is the tag of one key of a set, by which its reservation is known too.
func seenTag(set, key string) string { return coord.Escaped(set) + ":" + coord.Escaped(key) }

// seen is the key of one key of a set, by its tag.
func (k keys) seen(tag string) string { return k.Key(tag, "seen", "") }
