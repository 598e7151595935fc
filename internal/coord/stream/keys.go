package stream

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// Lasting lists the kinds of keys that have no TTL; an entry that ends with a colon is the prefix of such kinds.
// Messages stay until they are acknowledged, trimmed or dropped.
var Lasting = []string{
	"stream:log", "stream:dead", "stream:groups", "stream:due", "stream:delayed", "stream:retry:", "stream:lanes:", "stream:parked:", "stream:laned:",
}

// keys builds the keys of streams.
type keys struct{ coord.Keys }

// The kinds of keys by which a list finds streams: the log, and the messages that are not due.
// The pattern foundBy matches both, but not the keys of dedupe ids, which are many.
const (
	kindLog = "stream:log"
	kindDue = "stream:due"
	foundBy = "stream:[ld][ou][ge]"
)

// stream returns the key of one part of a stream.
func (k keys) stream(stream, part string) string {
	return k.Key(coord.Escaped(stream), "stream:", part)
}

// streamKeys returns the keys of a stream, except those by group, by dedupe id, and of messages
// that are not due.
func (k keys) streamKeys(stream string) Keys {
	part := func(name string) string { return k.stream(stream, name) }
	return Keys{Log: part("log"), Dead: part("dead"), Groups: part("groups")}
}

// delayedKeys returns the keys of the messages of a stream that are not due.
func (k keys) delayedKeys(stream string) DelayedKeys {
	return DelayedKeys{Due: k.stream(stream, "due"), Delayed: k.stream(stream, "delayed")}
}

// groupKeys returns the keys of a group.
func (k keys) groupKeys(stream, group string) GroupKeys {
	part := func(name string) string { return k.stream(stream, name+":"+coord.Escaped(group)) }
	return GroupKeys{Retry: part("retry"), Lanes: part("lanes"), Parked: part("parked"), Laned: part("laned")}
}

// dedupe returns the key of a dedupe id, which has the id of the message published with it.
func (k keys) dedupe(stream, id string) string { return k.stream(stream, "dedupe:"+coord.Escaped(id)) }
