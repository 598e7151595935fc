package doctor

import (
	"errors"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// What follows also makes the checks of readiness of a running sidecar, which has a store that is open.

// Store says of a store what it is, and what is wrong with it or the way to it. Ping is how a ping of it ended.
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

// Scripts says whether a store has all scripts.
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

// Eviction only warns: a limit that is evicted admits too much, and yet a sidecar can do
// nothing about it by not being ready. The policy is empty where it is not known.
func Eviction(policy string) (found string, err error) {
	switch policy {
	case "", "noeviction":
		return policy, nil
	default:
		return policy, warning(evictionID, "Redis may evict limits and locks when its memory is full", "set maxmemory-policy noeviction")
	}
}
