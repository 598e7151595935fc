package ratelimit

import (
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// Lasting are the kinds of keys that have no TTL: rules stay until they are deleted, and the seal of grants stays.
var Lasting = []string{"rules", "seal"}

// keys are those of limits.
type keys struct{ coord.Keys }

// limit is the state of one key of a rule, with an empty rule for limits given
// in full: rule names are never empty, so the two never meet. The part is a
// statePart; another algorithm never meets a foreign type.
func (k keys) limit(rule, key, part string) string {
	return k.PairKey(rule, key, kindLimit, part)
}

// kindLimit is the kind of all keys of limits.
const kindLimit = "rl:"

// statePart tells a limit's state from the others under its tag: the algorithm,
// and of a limit given in full its bands too. A rule keeps its state when its
// bands change; where there is no name, other bands are another limit.
func statePart(rule, algorithm, signature string) string {
	if rule != "" {
		return algorithm
	}
	return algorithm + ":" + signature
}

// isStatePart reports whether a text can be what statePart made for a rule. It
// takes those of limits in full without their bands too, as older sidecars made
// them: grants outlive rollouts.
func isStatePart(rule, part string) bool {
	algorithm, bands, banded := strings.Cut(part, ":")
	return algorithmNamed(algorithm) != nil && (!banded || rule == "" && bands != "") &&
		strings.Trim(bands, "0123456789/;") == ""
}

// algorithmOf is the algorithm of a statePart.
func algorithmOf(part string) string {
	algorithm, _, _ := strings.Cut(part, ":")
	return algorithm
}

// ofState returns the key of the pace beside the state of a limit, and the algorithm.
func (k keys) ofState(state string) (pace, algorithm string) {
	tag, kind, _ := k.Split(state)
	return k.pace(tag), algorithmOf(strings.TrimPrefix(kind, kindLimit))
}

// limitTag is the hash tag of all Redis keys of one key of a rule.
func limitTag(rule, key string) string { return coord.Escaped(rule) + ":" + coord.Escaped(key) }

// limitPart is one of the Redis keys under that tag.
func (k keys) limitPart(tag, part string) string { return k.Key(tag, kindLimit, part) }

// pace is the key of the pace of one key of a rule, whatever the algorithm is. It keeps its
// first name, gate, since sidecars of two versions share it. No algorithm has that name.
func (k keys) pace(tag string) string { return k.limitPart(tag, "gate") }

// refunded is the key that marks a grant under that tag as refunded. The grant's id has
// neither braces nor percent signs.
func (k keys) refunded(tag, id string) string { return k.limitPart(tag, "refunded:"+id) }

// permits are the keys of the permits of a limit with max_concurrent: their leases, the
// holders, and the waiting line for them.
func (k keys) permits(tag string) (leases, holders string, line lease.LineKeys) {
	leases = k.limitPart(tag, "leases")
	return leases, k.limitPart(tag, "holders"), lease.LineKeysOf(leases)
}

// rules is the key of the rules that all sidecars share. A limit's tag has a colon, so that
// no key of a limit has this tag.
func (k keys) rules() string { return k.Key("rules", "rules", "") }

// seal is the key of the secret that seals grants. See rules for its tag.
func (k keys) seal() string { return k.Key("grants", "seal", "") }
