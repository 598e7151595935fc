package coord

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// poolKeys are those of pools.
type poolKeys struct{ Keys }

// pool is what a pool has besides its members' states, by part.
func (k poolKeys) pool(pool, part string) string { return k.key(Escaped(pool), "pool:", part) }

// poolKeys are what a pool has, whatever is asked of it.
func (k poolKeys) poolKeys(pool string) lua.PoolKeys {
	return lua.PoolKeys{
		Order: k.pool(pool, "order"), Meta: k.pool(pool, "meta"), Changes: k.pool(pool, "changes"), Members: k.members(pool),
		Tokens: k.pool(pool, "tokens"), State: k.pool(pool, "state"), Heads: k.pool(pool, "heads"), Breakers: k.memberBreakers(pool),
	}
}

// used are the last uses and cooldowns of a pool's members in one scope.
func (k poolKeys) used(pool, scope string) string { return k.pool(pool, "used:"+Escaped(scope)) }

// sticky is the member that a name gets again in a scope.
func (k poolKeys) sticky(pool, scope, name string) string {
	return k.pool(pool, "sticky:"+Escaped(scope)+":"+Escaped(name))
}

// view is one view of a pool, of what that noun asks for in a scope, under a rule
// and a breaker policy. Its terms are hashed: they are long, and nobody reads them.
func (k poolKeys) view(pool, noun string, of [3]string, terms string) lua.ViewKeys {
	id := noun + ":" + Escaped(of[0]) + ":" + Escaped(of[1]) + ":" + Escaped(of[2])
	sum := sha256.Sum256([]byte(terms))
	part := func(name string) string { return k.pool(pool, name+":"+id+":"+hex.EncodeToString(sum[:8])) }
	return lua.ViewKeys{
		Idle: part("idle"), Away: part("away"), Seen: part("seen"), Used: k.used(pool, of[0]), LineKeys: lineKeys(k.pool(pool, "view:"+id)),
	}
}

// members are the states of a pool's members: lease, use, failures, ban, pause.
func (k poolKeys) members(pool string) string { return k.key(Escaped(pool), "st", "") }

// memberBuckets are the buckets of a pool's members under one rule.
func (k poolKeys) memberBuckets(pool, rule string) string {
	return k.key(Escaped(pool), "bk:", Escaped(rule))
}
