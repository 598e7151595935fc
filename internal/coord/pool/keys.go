package pool

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// Lasting are the kinds of keys without a TTL: a pool exists until its members are removed.
var Lasting = []string{"pool:order", "pool:meta", "pool:changes", "pool:tokens", "pool:state", "st"}

// keys builds the keys of pools.
type keys struct{ coord.Keys }

// partOrder is the part of the key by which pools are listed: that key exists as long as the pool has
// members.
const (
	kindPool  = "pool:"
	partOrder = "order"
)

// pool returns a key of a pool that is not about the state of its members, by its part.
func (k keys) pool(pool, part string) string { return k.Key(coord.Escaped(pool), kindPool, part) }

// keys returns the keys of a pool that all its scripts share.
func (k keys) poolKeys(pool string) Keys {
	return Keys{
		Order: k.pool(pool, partOrder), Meta: k.pool(pool, "meta"), Changes: k.pool(pool, "changes"), Members: k.members(pool),
		Tokens: k.pool(pool, "tokens"), State: k.pool(pool, "state"), Heads: k.pool(pool, "heads"), Breakers: k.MemberBreakers(pool),
	}
}

// used returns the key of the last uses and cooldowns of a pool's members in one scope.
func (k keys) used(pool, scope string) string { return k.pool(pool, "used:"+coord.Escaped(scope)) }

// sticky returns the key of the member that a sticky name gets again in a scope.
func (k keys) sticky(pool, scope, name string) string {
	return k.pool(pool, "sticky:"+coord.Escaped(scope)+":"+coord.Escaped(name))
}

// view returns the keys of one view of a pool: for a noun in a scope, under a rule
// and a breaker policy. The terms are hashed in the keys, since they are long.
func (k keys) view(pool, noun string, of [3]string, terms string) ViewKeys {
	id := noun + ":" + coord.Escaped(of[0]) + ":" + coord.Escaped(of[1]) + ":" + coord.Escaped(of[2])
	sum := sha256.Sum256([]byte(terms))
	part := func(name string) string { return k.pool(pool, name+":"+id+":"+hex.EncodeToString(sum[:8])) }
	return ViewKeys{
		Idle: part("idle"), Away: part("away"), Seen: part("seen"), Used: k.used(pool, of[0]), LineKeys: lease.LineKeysOf(k.pool(pool, "view:"+id)),
	}
}

// members returns the key of the states of a pool's members: lease, use, failures, ban, pause.
func (k keys) members(pool string) string { return k.Key(coord.Escaped(pool), "st", "") }

// memberBuckets returns the key of the buckets of a pool's members under one rule.
func (k keys) memberBuckets(pool, rule string) string {
	return k.Key(coord.Escaped(pool), "bk:", coord.Escaped(rule))
}
