package pool

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// keys are those of pools.
type keys struct{ coord.Keys }

// partOrder is the part of the key by which pools are found, since it is there as long as
// there are members.
const (
	kindPool  = "pool:"
	partOrder = "order"
)

// pool is what a pool has besides its members' states, by part.
func (k keys) pool(pool, part string) string { return k.Key(coord.Escaped(pool), kindPool, part) }

// keys are what a pool has, whatever is asked of it.
func (k keys) poolKeys(pool string) Keys {
	return Keys{
		Order: k.pool(pool, partOrder), Meta: k.pool(pool, "meta"), Changes: k.pool(pool, "changes"), Members: k.members(pool),
		Tokens: k.pool(pool, "tokens"), State: k.pool(pool, "state"), Heads: k.pool(pool, "heads"), Breakers: k.MemberBreakers(pool),
	}
}

// used are the last uses and cooldowns of a pool's members in one scope.
func (k keys) used(pool, scope string) string { return k.pool(pool, "used:"+coord.Escaped(scope)) }

// sticky is the member that a name gets again in a scope.
func (k keys) sticky(pool, scope, name string) string {
	return k.pool(pool, "sticky:"+coord.Escaped(scope)+":"+coord.Escaped(name))
}

// view is one view of a pool, of what that noun asks for in a scope, under a rule
// and a breaker policy. Its terms are hashed: they are long, and nobody reads them.
func (k keys) view(pool, noun string, of [3]string, terms string) ViewKeys {
	id := noun + ":" + coord.Escaped(of[0]) + ":" + coord.Escaped(of[1]) + ":" + coord.Escaped(of[2])
	sum := sha256.Sum256([]byte(terms))
	part := func(name string) string { return k.pool(pool, name+":"+id+":"+hex.EncodeToString(sum[:8])) }
	return ViewKeys{
		Idle: part("idle"), Away: part("away"), Seen: part("seen"), Used: k.used(pool, of[0]), LineKeys: lease.LineKeysOf(k.pool(pool, "view:"+id)),
	}
}

// members are the states of a pool's members: lease, use, failures, ban, pause.
func (k keys) members(pool string) string { return k.Key(coord.Escaped(pool), "st", "") }

// memberBuckets are the buckets of a pool's members under one rule.
func (k keys) memberBuckets(pool, rule string) string {
	return k.Key(coord.Escaped(pool), "bk:", coord.Escaped(rule))
}
