package coord

// seenKeys are those of sets of keys that were seen.
type seenKeys struct{ Keys }

// seenTag is the tag of one key of a set, by which its reservation is known too.
func seenTag(set, key string) string { return Escaped(set) + ":" + Escaped(key) }

// seenUnder is seen by its tag.
func (k seenKeys) seen(tag string) string { return k.key(tag, "seen", "") }
