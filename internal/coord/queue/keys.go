package queue

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// keys are those of queues.
type keys struct{ coord.Keys }

// The kinds of the keys by which queues are found: of one with entries, and of the line of one
// that calls wait at. foundBy matches both.
const (
	kindEntries = "queue:entries"
	kindLine    = "queue:order:line"
	foundBy     = "queue:[eo]*"
)

// queue is a key of a queue, by part.
func (k keys) queue(queue, part string) string { return k.Key(coord.Escaped(queue), "queue:", part) }

// keys are those of all that a queue holds.
func (k keys) queueKeys(queue string) Keys {
	part := func(name string) string { return k.queue(queue, name) }
	return Keys{
		Order: part("order"), Entries: part("entries"), Bodies: part("bodies"), Expiry: part("expiry"),
		Leased: part("leased"), Holders: part("holders"),
	}
}

// queueEnded is which of its leases ended by their holder's word.
func (k keys) queueEnded(queue string) string { return k.queue(queue, "ended") }

// queueTaken is what left a queue by that token, to be put back if nobody hears
// of it.
func (k keys) queueTaken(queue, token string) string {
	return k.queue(queue, "taken:"+coord.Escaped(token))
}

// queueLine is the line for its entries.
func (k keys) queueLine(queue string) lease.LineKeys {
	return lease.LineKeysOf(k.queue(queue, "order"))
}
