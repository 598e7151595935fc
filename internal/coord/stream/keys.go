package stream

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// keys are those of streams.
type keys struct{ coord.Keys }

// The kinds of the keys by which streams are found: of one that has a log, and of the messages
// of one that are not due. foundBy matches both, and not those of dedupe ids, which are many.
const (
	kindLog = "stream:log"
	kindDue = "stream:due"
	foundBy = "stream:[ld][ou][ge]"
)

// stream is a key of a stream, by part.
func (k keys) stream(stream, part string) string {
	return k.Key(coord.Escaped(stream), "stream:", part)
}

// streamKeys are those of all that a stream has, but for what is kept by group and by dedupe id.
func (k keys) streamKeys(stream string) Keys {
	part := func(name string) string { return k.stream(stream, name) }
	return Keys{Log: part("log"), Dead: part("dead"), Groups: part("groups")}
}

// delayedKeys are those of messages that are not due.
func (k keys) delayedKeys(stream string) DelayedKeys {
	return DelayedKeys{Due: k.stream(stream, "due"), Delayed: k.stream(stream, "delayed")}
}

// groupKeys are those of a group.
func (k keys) groupKeys(stream, group string) GroupKeys {
	part := func(name string) string { return k.stream(stream, name+":"+coord.Escaped(group)) }
	return GroupKeys{Retry: part("retry"), Lanes: part("lanes"), Parked: part("parked"), Laned: part("laned")}
}

// dedupe is what became of the message of a dedupe id.
func (k keys) dedupe(stream, id string) string { return k.stream(stream, "dedupe:"+coord.Escaped(id)) }
