// Package coord is the coordination logic: the nouns, each of which lists the methods
// of the contract that it carries out, and what they share.
//
// Its invariants: every key is built in keys.go; everything that a session
// holds is renewed by one renewer and given back by one path; refusals are
// results and only faults are errors.
//
// It knows neither sockets nor Redis commands: calls come in as the contract's types
// and go out as runs of scripts.
package coord

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// layout is bumped when the meaning of a key changes, since old and new
// sidecars share a Redis during a rollout.
const layout = "v1"

// Keys builds every Redis key: <prefix>[:<tenant>]:<layout>:{<tag>}:<kind>[:<part>].
//
// All that users write is escaped, so that a colon or brace of a key is always
// one of ours. Hence two different inputs never make the same key: the text
// before the first brace says prefix and tenant, the text between the braces is
// the tag, and escaping can be undone.
type Keys struct{ base string }

// NewKeys takes redis.prefix and redis.tenant; an empty tenant is left out.
func NewKeys(prefix, tenant string) Keys {
	base := escaped(prefix) + ":"
	if tenant != "" {
		base += escaped(tenant) + ":"
	}
	return Keys{base + layout + ":{"}
}

// limit is the state of one key of a rule, with an empty rule for limits given
// in full: rule names are never empty, so the two never meet. The part is a
// statePart; another algorithm never meets a foreign type.
func (k Keys) limit(rule, key, part string) string {
	return k.base + escaped(rule) + ":" + escaped(key) + limitMark + part
}

// limitMark stands between the tag of a limit and the part. No tag has a brace.
const limitMark = "}:rl:"

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

// ofState is the gate beside the state of a limit, and its algorithm.
func (k Keys) ofState(state string) (gate, algorithm string) {
	_, part, _ := strings.Cut(state, limitMark)
	return k.gate(k.tag(state)), algorithmOf(part)
}

// tag is that of a key. It copies nothing.
func (k Keys) tag(key string) string { return key[len(k.base):strings.IndexByte(key, '}')] }

// limitTag is the tag of all that one key of a rule has.
func limitTag(rule, key string) string { return escaped(rule) + ":" + escaped(key) }

// limitPart is one of the keys under it.
func (k Keys) limitPart(tag, part string) string { return k.base + tag + limitMark + part }

// gate is what holds up one key of a rule whatever its algorithm is. No algorithm
// has its name.
func (k Keys) gate(tag string) string { return k.limitPart(tag, "gate") }

// refunded is the mark that a grant under that tag was given back. Its id has
// neither braces nor percent signs.
func (k Keys) refunded(tag, id string) string { return k.limitPart(tag, "refunded:"+id) }

// seats are the leases of a limit with max_concurrent, who holds them, and the
// line for them.
func (k Keys) seats(tag string) (leases, holders string, line lua.LineKeys) {
	leases = k.limitPart(tag, "leases")
	return leases, k.limitPart(tag, "holders"), k.line(leases)
}

// Scratch is a key under a tag of the probe's, where nothing is ever written. No
// other kind of key ends as it does.
func (k Keys) Scratch(tag string) string { return k.base + "probe:" + tag + "}:probe" }

// rules are those that all sidecars share. A limit's tag has a colon, so that no
// key of a limit is under this one.
func (k Keys) rules() string { return k.base + "rules}:rules" }

// seal is what grants are sealed with. See rules for its tag.
func (k Keys) seal() string { return k.base + "grants}:seal" }

// lock is a lock's state. Its tag has no colon and a limit's always has one, so
// that a lock and a limit of one name do not even share a slot.
func (k Keys) lock(name string) string {
	return k.base + escaped(name) + "}:lock"
}

// lockName is whose state a key is, if it is a lock's.
func (k Keys) lockName(key string) (string, bool) {
	tag, ok := strings.CutPrefix(key, k.base)
	if !ok {
		return "", false
	}
	tag, ok = strings.CutSuffix(tag, "}:lock")
	return unescaped(tag), ok && isEscaped(tag)
}

// locks is the pattern of all locks' keys, for SCAN.
func (k Keys) locks() string { return globbed(strings.TrimSuffix(k.base, "{")) + "{*}:lock" }

// semaphore is a semaphore's leases, who holds them and how many permits each,
// and the line for them.
func (k Keys) semaphore(name string) (s lua.SemaphoreKeys, line lua.LineKeys) {
	leases := k.base + escaped(name) + "}:sem"
	return lua.SemaphoreKeys{Leases: leases, Holders: leases + ":holders", Weights: leases + ":weights"}, k.line(leases)
}

// semaphoreGone is the mark that a token gave permits back.
func (k Keys) semaphoreGone(name, token string) string {
	return k.base + escaped(name) + "}:sem:gone:" + escaped(token)
}

// breaker is the state of a breaker that is not a pool member's.
func (k Keys) breaker(name string) string { return k.base + escaped(name) + "}:br" }

// seenTag is the tag of one key of a set, by which its reservation is known too.
func seenTag(set, key string) string { return escaped(set) + ":" + escaped(key) }

// seenUnder is seen by its tag.
func (k Keys) seen(tag string) string { return k.base + tag + "}:seen" }

// pool is what a pool has besides its members' states, by part.
func (k Keys) pool(pool, part string) string { return k.base + escaped(pool) + "}:pool:" + part }

// poolKeys are what a pool has, whatever is asked of it.
func (k Keys) poolKeys(pool string) lua.PoolKeys {
	return lua.PoolKeys{
		Order: k.pool(pool, "order"), Meta: k.pool(pool, "meta"), Changes: k.pool(pool, "changes"), Members: k.members(pool),
		Tokens: k.pool(pool, "tokens"), State: k.pool(pool, "state"), Heads: k.pool(pool, "heads"), Breakers: k.memberBreakers(pool),
	}
}

// used are the last uses and cooldowns of a pool's members in one scope.
func (k Keys) used(pool, scope string) string { return k.pool(pool, "used:"+escaped(scope)) }

// sticky is the member that a name gets again in a scope.
func (k Keys) sticky(pool, scope, name string) string {
	return k.pool(pool, "sticky:"+escaped(scope)+":"+escaped(name))
}

// view is one view of a pool, of what that noun asks for in a scope, under a rule
// and a breaker policy. Its terms are hashed: they are long, and nobody reads them.
func (k Keys) view(pool, noun string, of [3]string, terms string) lua.ViewKeys {
	id := noun + ":" + escaped(of[0]) + ":" + escaped(of[1]) + ":" + escaped(of[2])
	sum := sha256.Sum256([]byte(terms))
	part := func(name string) string { return k.pool(pool, name+":"+id+":"+hex.EncodeToString(sum[:8])) }
	return lua.ViewKeys{
		Idle: part("idle"), Away: part("away"), Seen: part("seen"), Used: k.used(pool, of[0]), LineKeys: k.line(k.pool(pool, "view:"+id)),
	}
}

// members are the states of a pool's members: lease, use, failures, ban, pause.
func (k Keys) members(pool string) string { return k.base + escaped(pool) + "}:st" }

// memberBreakers are the breakers of a pool's members.
func (k Keys) memberBreakers(pool string) string { return k.base + escaped(pool) + "}:br:members" }

// memberBuckets are the buckets of a pool's members under one rule.
func (k Keys) memberBuckets(pool, rule string) string {
	return k.base + escaped(pool) + "}:bk:" + escaped(rule)
}

// queue is what a queue has, by part.
func (k Keys) queue(queue, part string) string { return k.base + escaped(queue) + "}:queue:" + part }

// queueKeys are those of all that a queue holds.
func (k Keys) queueKeys(queue string) lua.QueueKeys {
	part := func(name string) string { return k.queue(queue, name) }
	return lua.QueueKeys{
		Order: part("order"), Entries: part("entries"), Bodies: part("bodies"), Expiry: part("expiry"),
		Leased: part("leased"), Holders: part("holders"),
	}
}

// queueEnded is which of its leases ended by their holder's word.
func (k Keys) queueEnded(queue string) string { return k.queue(queue, "ended") }

// queueTaken is what left a queue by that token, to be put back if nobody hears
// of it.
func (k Keys) queueTaken(queue, token string) string { return k.queue(queue, "taken:"+escaped(token)) }

// queueLine is the line for its entries.
func (k Keys) queueLine(queue string) lua.LineKeys { return k.line(k.queue(queue, "order")) }

// line is the waiting line for what has this state: one for each name, whatever
// its noun.
func (k Keys) line(state string) lua.LineKeys {
	return lua.LineKeys{Line: state + ":line", Beats: state + ":beats"}
}

// inbox is the Pub/Sub channel of one sidecar: whose turn it is among its waiters.
func (k Keys) inbox(sidecar string) string { return k.inboxes() + sidecar }

// inboxes is what the names of all sidecars' inboxes begin with.
func (k Keys) inboxes() string { return k.channels() + "inbox:" }

// broadcast is the Pub/Sub channel of all sidecars: what caches must forget.
func (k Keys) broadcast() string { return k.channels() + "broadcast" }

// channels is what the names of all channels begin with. A channel has no slot,
// hence no tag.
func (k Keys) channels() string { return strings.TrimSuffix(k.base, "{") }

// globbed is text as a pattern that matches only itself.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// latch is where the reply of a call with this request id is kept: under the tag
// of the key that the call changes.
func latch(key string, c Caller) lua.Latch {
	if c.RequestID == "" {
		return lua.Latch{}
	}
	tag := key[:strings.IndexByte(key, '}')]
	return lua.Latch{Key: tag + "}:idem:" + escaped(c.RequestID), Fingerprint: c.Fingerprint}
}

// latchAlways is latch, by an id of its own for a call that has none: what would
// do something else when it is run again can then be tried again here.
func latchAlways(key string, c Caller) lua.Latch {
	if c.RequestID == "" {
		c.RequestID = rand.Text()
	}
	return latch(key, c)
}

// escaped makes text safe inside a key: %, braces, colons and control bytes
// become %XX, and so do bytes that are not UTF-8, since keys appear in logs and
// spans, which are text. It returns the text itself where nothing is to be done.
func escaped(text string) string {
	const digits = "0123456789ABCDEF"
	var b []byte
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case plain(r, size):
			if b != nil {
				b = append(b, text[i:i+size]...)
			}
		default:
			if b == nil {
				b = append(make([]byte, 0, len(text)+16), text[:i]...)
			}
			for _, c := range []byte(text[i : i+size]) {
				b = append(b, '%', digits[c>>4], digits[c&15])
			}
		}
		i += size
	}
	if b == nil {
		return text
	}
	return string(b)
}

// unescaped is the text of which escaped made this one.
func unescaped(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}

// isEscaped reports whether text can be what escaped returned.
func isEscaped(text string) bool {
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r != '%' && !plain(r, size) {
			return false
		}
	}
	return true
}

// plain reports whether a rune stands for itself. The size tells a byte that is
// not UTF-8 from the character U+FFFD, which decodes to the same rune.
func plain(r rune, size int) bool {
	switch {
	case r == '%', r == '{', r == '}', r == ':', unicode.IsControl(r):
		return false
	default:
		return r != utf8.RuneError || size > 1
	}
}

// checkText bounds a name, a key or a token as the wire does; field is its key there.
func checkText(field, text string) error {
	switch {
	case text == "":
		return invalid("%s: missing; give 1 to %d bytes", field, api.MaxNameBytes)
	case len(text) > api.MaxNameBytes:
		return invalid("%s: %d bytes are too many; give at most %d, such as a hash of what is longer", field, len(text), api.MaxNameBytes)
	default:
		return nil
	}
}
