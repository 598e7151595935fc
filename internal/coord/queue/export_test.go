package queue

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// KeysOf returns the keys of a queue, LineOf those of its waiting line.
func KeysOf(k coord.Keys, queue string) Keys           { return keys{k}.queueKeys(queue) }
func LineOf(k coord.Keys, queue string) lease.LineKeys { return keys{k}.queueLine(queue) }
