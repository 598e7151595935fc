package queue

import (
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// QueueKeys are what a queue has, QueueLine its waiting line.
func QueueKeys(k coord.Keys, queue string) Keys           { return keys{k}.queueKeys(queue) }
func QueueLine(k coord.Keys, queue string) lease.LineKeys { return keys{k}.queueLine(queue) }
