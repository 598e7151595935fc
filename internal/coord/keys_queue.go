package coord

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// queueKeys are those of queues.
type queueKeys struct{ Keys }

// queue is what a queue has, by part.
func (k queueKeys) queue(queue, part string) string { return k.key(Escaped(queue), "queue:", part) }

// queueKeys are those of all that a queue holds.
func (k queueKeys) queueKeys(queue string) lua.QueueKeys {
	part := func(name string) string { return k.queue(queue, name) }
	return lua.QueueKeys{
		Order: part("order"), Entries: part("entries"), Bodies: part("bodies"), Expiry: part("expiry"),
		Leased: part("leased"), Holders: part("holders"),
	}
}

// queueEnded is which of its leases ended by their holder's word.
func (k queueKeys) queueEnded(queue string) string { return k.queue(queue, "ended") }

// queueTaken is what left a queue by that token, to be put back if nobody hears
// of it.
func (k queueKeys) queueTaken(queue, token string) string {
	return k.queue(queue, "taken:"+Escaped(token))
}

// queueLine is the line for its entries.
func (k queueKeys) queueLine(queue string) lua.LineKeys { return lineKeys(k.queue(queue, "order")) }
