package doctor

import (
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// The functions below are also the readiness checks of a running sidecar, whose store is already open.

// Store describes a store, and returns as an error what is wrong with it or with the connection to it. Ping is the
// error of a ping.
func Store(s redis.Status, ping error) (found string, err error) {
	var met *redis.Trouble
	switch {
	case s.Topology == redis.Embedded:
		return "embedded store", warning(reachID, "its state is in this process alone and ends with it; for development only", "set redis.url")
	case s.Trouble != nil:
		return s.Address, s.Trouble.Problem()
	case errors.As(ping, &met):
		return s.Address, met.Problem()
	case ping != nil:
		return s.Address, ping
	case !s.Up:
		return s.Address, failure(reachID, "it answers; the first probe of it is under way", "wait for it")
	default:
		return fmt.Sprintf("%s %s, round trip %v", s.Topology, s.Address, s.RTT), nil
	}
}

// Scripts checks whether a store has all scripts loaded.
func Scripts(s redis.Status) (found string, err error) {
	switch {
	case s.ScriptsLoaded:
		return "loaded", nil
	case s.Trouble != nil:
		return "", &finding.Problem{ID: s.Trouble.Check, Cause: "not loaded: " + s.Trouble.Words, Fix: s.Trouble.Remedy, Err: s.Trouble}
	default:
		return "", failure(commandsID, "not loaded yet", "wait: they are as soon as Redis answers and lets this user run SCRIPT LOAD")
	}
}

// Eviction only warns: a limit whose key was evicted admits too much, but a sidecar that is not ready would not change
// that. An empty policy is an unknown one.
func Eviction(policy string) (found string, err error) {
	switch policy {
	case "", "noeviction":
		return policy, nil
	default:
		return policy, warning(evictionID, "Redis may evict limits and locks when its memory is full", "set maxmemory-policy noeviction")
	}
}
