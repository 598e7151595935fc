package queue

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// keys builds the keys of queues.
type keys struct{ coord.Keys }

// The kinds of keys by which queues are found: kindEntries for a queue that has entries, kindLine for one that calls
// wait for. foundBy matches both.
const (
	kindEntries = "queue:entries"
	kindLine    = "queue:order:line"
	foundBy     = "queue:[eo]*"
)

// queue returns the key of one part of a queue.
func (k keys) queue(queue, part string) string { return k.Key(coord.Escaped(queue), "queue:", part) }

// queueKeys returns the keys of a queue's entries and leases.
func (k keys) queueKeys(queue string) Keys {
	part := func(name string) string { return k.queue(queue, name) }
	return Keys{
		Order: part("order"), Entries: part("entries"), Bodies: part("bodies"), Expiry: part("expiry"),
		Leased: part("leased"), Holders: part("holders"),
	}
}

// queueEnded returns the key of the leases that their holders ended.
func (k keys) queueEnded(queue string) string { return k.queue(queue, "ended") }

// queueTaken returns the key of the entry that left a queue by that token, kept so that it can be put back if the
// reply does not reach its caller.
func (k keys) queueTaken(queue, token string) string {
	return k.queue(queue, "taken:"+coord.Escaped(token))
}

// queueLine returns the keys of the waiting line for entries.
func (k keys) queueLine(queue string) lease.LineKeys {
	return lease.LineKeysOf(k.queue(queue, "order"))
}
