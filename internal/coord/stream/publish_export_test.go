package stream

import "github.com/coxswain-sidecar/coxswain/internal/coord"

// EveryKeyOf returns all keys of a stream, a group and a dedupe id.
func EveryKeyOf(k coord.Keys, stream, group, dedupe string) []string {
	own := keys{k}
	all, delayed, g := own.streamKeys(stream), own.delayedKeys(stream), own.groupKeys(stream, group)
	return []string{
		all.Log, all.Dead, all.Groups, delayed.Due, delayed.Delayed, g.Retry, g.Lanes, g.Parked, g.Laned, own.dedupe(stream, dedupe),
	}
}

// LogOf returns the key of the log of a stream.
func LogOf(k coord.Keys, stream string) string { return keys{k}.streamKeys(stream).Log }

// DueOf returns the input of DueScript for a stream.
func DueOf(k coord.Keys, stream string) DueIn {
	return DueIn{Keys: keys{k}.streamKeys(stream), DelayedKeys: keys{k}.delayedKeys(stream)}
}

// Watch and Unwatch do for a stream what a group of consumers does when it starts and ends.
func Watch(s *Streams, stream string)   { s.dues.watch(stream) }
func Unwatch(s *Streams, stream string) { s.dues.unwatch(stream) }

// LooksAfter returns how many streams the sidecar looks after.
func LooksAfter(s *Streams) int {
	s.dues.mu.Lock()
	defer s.dues.mu.Unlock()
	return len(s.dues.byLog)
}

// MessageOf decodes a message that is kept in Redis.
func MessageOf(kept string) (body []byte, fields map[string]string, traceparent string, err error) {
	e, err := unpack(kept)
	return e.Body, e.Fields, e.Traceparent, err
}
