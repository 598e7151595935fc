// Package coord is what the nouns share: callers and their sessions, keys, errors, events,
// signals between sidecars, local answers, fail modes and the clock. Each noun is a package
// below it, which lists the methods of the contract that it carries out (Method).
//
// Its invariants: every key begins with Keys; refusals are results and only faults are
// errors.
//
// It knows neither sockets nor Redis commands: calls come in as the contract's types
// and go out as runs of scripts.
package coord

import (
	"crypto/rand"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// layout is bumped when the meaning of a key changes, since old and new
// sidecars share a Redis during a rollout.
const layout = "v2"

// Keys builds every Redis key: <prefix>[:<tenant>]:<layout>:{<tag>}:<kind>[:<part>].
//
// All text of users is escaped, so a colon or brace in a key always separates its parts.
// Hence two different inputs never make the same key: the text
// before the first brace contains prefix and tenant, the text between the braces is
// the tag, and escaping can be undone.
type Keys struct{ base string }

// NewKeys takes redis.prefix and redis.tenant; an empty tenant is left out.
func NewKeys(prefix, tenant string) Keys {
	base := Escaped(prefix) + ":"
	if tenant != "" {
		base += Escaped(tenant) + ":"
	}
	return Keys{base + layout + ":{"}
}

// Scratch returns a key that is never written, for the probes of Redis nodes. No
// other kind of key has its ending.
func (k Keys) Scratch(tag string) string { return k.Key("probe:"+tag, "probe", "") }

// MemberBreakers returns the key of the breakers of a pool's members, under the tag of the pool.
func (k Keys) MemberBreakers(pool string) string { return k.Key(Escaped(pool), "br:members", "") }

// Key returns a key under a tag, which is escaped text. Kind and part are two arguments,
// so that callers need not join them first, which would allocate.
func (k Keys) Key(tag, kind, part string) string { return k.base + tag + "}:" + kind + part }

// PairKey is Key under a tag of two texts, which it escapes. It allocates once.
func (k Keys) PairKey(first, second, kind, part string) string {
	return k.base + Escaped(first) + ":" + Escaped(second) + "}:" + kind + part
}

// Split undoes Key: it returns the tag of a key and its kind with its part. False is a
// key of another prefix or tenant. It copies nothing.
func (k Keys) Split(key string) (tag, kind string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.base)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "}:")
}

// NameOf undoes Key of an escaped name: it returns the name whose key of that kind this is,
// if it is one.
func (k Keys) NameOf(key, kind string) (string, bool) {
	tag, rest, ok := k.Split(key)
	if !ok || rest != kind || !IsEscaped(tag) {
		return "", false
	}
	return Unescaped(tag), true
}

// Pattern returns the pattern of all keys of a kind, for SCAN. The kind may be a glob that matches several.
func (k Keys) Pattern(kind string) string { return globbed(k.channels()) + "{*}:" + kind }

// inbox returns the Pub/Sub channel of one sidecar, on which scripts wake its waiters.
func (k Keys) inbox(sidecar string) string { return k.Inboxes() + sidecar }

// Inboxes returns the prefix of the names of all sidecars' inboxes.
func (k Keys) Inboxes() string { return k.channels() + "inbox:" }

// Broadcast returns the Pub/Sub channel of all sidecars, on which scripts announce changes that caches must drop.
func (k Keys) Broadcast() string { return k.channels() + "broadcast" }

// Messages returns the prefix of the names of the channels that users publish to; the rest of a name is
// the user's.
func (k Keys) Messages() string { return k.channels() + "pubsub:" }

// MessagesPattern returns Messages as a pattern that matches only itself.
func (k Keys) MessagesPattern() string { return globbed(k.Messages()) }

// channels returns the prefix of the names of all channels. A channel has no hash slot,
// hence no tag.
func (k Keys) channels() string { return strings.TrimSuffix(k.base, "{") }

// globbed returns text as a pattern that matches only itself.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// StoredReply returns where the reply of a call with a request id is stored: under the tag
// of the key that the call changes.
func StoredReply(key string, c Caller) lua.StoredReply {
	if c.RequestID == "" {
		return lua.StoredReply{}
	}
	tag := key[:strings.IndexByte(key, '}')]
	return lua.StoredReply{Key: tag + "}:idem:" + Escaped(c.RequestID), Fingerprint: c.Fingerprint}
}

// StoredReplyAlways is StoredReply that makes a request id for a call that has none. This sidecar can then repeat
// a script that is not idempotent.
func StoredReplyAlways(key string, c Caller) lua.StoredReply {
	if c.RequestID == "" {
		c.RequestID = rand.Text()
	}
	return StoredReply(key, c)
}

// Escaped makes text safe inside a key: %, braces, colons and control bytes
// become %XX, and so do bytes that are not UTF-8, since keys appear in logs and
// spans, which are text. If there is nothing to escape, it returns the text itself.
func Escaped(text string) string {
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

// Unescaped undoes Escaped.
func Unescaped(text string) string {
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

// IsEscaped reports whether Escaped can have returned text.
func IsEscaped(text string) bool {
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r != '%' && !plain(r, size) {
			return false
		}
	}
	return true
}

// plain reports whether a rune is left unescaped. The size distinguishes a byte that is
// not UTF-8 from the character U+FFFD, which decodes to the same rune.
func plain(r rune, size int) bool {
	switch {
	case r == '%', r == '{', r == '}', r == ':', unicode.IsControl(r):
		return false
	default:
		return r != utf8.RuneError || size > 1
	}
}

// CheckText checks the length of a name, a key or a token as the wire does; field is its key there.
func CheckText(field, text string) error {
	switch {
	case text == "":
		return Invalid("%s: missing; give 1 to %d bytes", field, api.MaxNameBytes)
	case len(text) > api.MaxNameBytes:
		return Invalid("%s: %d bytes are too many; give at most %d, such as a hash of what is longer", field, len(text), api.MaxNameBytes)
	default:
		return nil
	}
}
