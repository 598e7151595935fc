package coord

import "github.com/coxswain-sidecar/coxswain/internal/lua"

// QueueKeys are what a queue has, QueueLine its waiting line.
func QueueKeys(k Keys, queue string) lua.QueueKeys { return queueKeys{k}.queueKeys(queue) }
func QueueLine(k Keys, queue string) lua.LineKeys  { return queueKeys{k}.queueLine(queue) }
