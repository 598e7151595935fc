package queue_test

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/queue"
)

func (p *queueRun) keys() queue.Keys {
	n := p.name
	return queue.Keys{Order: n + ":o", Entries: n + ":n", Bodies: n + ":b", Expiry: n + ":x", Leased: n + ":l", Holders: n + ":h"}
}

func (p *queueRun) line() lease.LineKeys { return lease.LineKeysOf(p.name) }

func (p *queueRun) all() []string {
	k := p.keys()
	return []string{k.Order, k.Entries, k.Bodies, k.Expiry, k.Leased, k.Holders}
}
