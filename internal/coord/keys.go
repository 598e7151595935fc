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
// All that users write is escaped, so that a colon or brace of a key is always
// one of ours. Hence two different inputs never make the same key: the text
// before the first brace says prefix and tenant, the text between the braces is
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

// Scratch is a key under a tag of the probe's, where nothing is ever written. No
// other kind of key ends as it does.
func (k Keys) Scratch(tag string) string { return k.Key("probe:"+tag, "probe", "") }

// MemberBreakers are the breakers of a pool's members, under the tag of the pool.
func (k Keys) MemberBreakers(pool string) string { return k.Key(Escaped(pool), "br:members", "") }

// Key is a key under a tag, which is escaped text. It takes its kind and its part apart,
// so that callers need not join them first.
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

// Pattern is that of all keys of a kind, for SCAN. The kind may be a glob, for several.
func (k Keys) Pattern(kind string) string { return globbed(k.channels()) + "{*}:" + kind }

// inbox is the Pub/Sub channel of one sidecar: whose turn it is among its waiters.
func (k Keys) inbox(sidecar string) string { return k.Inboxes() + sidecar }

// Inboxes is what the names of all sidecars' inboxes begin with.
func (k Keys) Inboxes() string { return k.channels() + "inbox:" }

// Broadcast is the Pub/Sub channel of all sidecars: what caches must forget.
func (k Keys) Broadcast() string { return k.channels() + "broadcast" }

// Messages is what the names of the channels begin with that users publish to; the rest is
// what they wrote.
func (k Keys) Messages() string { return k.channels() + "pubsub:" }

// MessagesPattern is Messages as a pattern that matches only itself.
func (k Keys) MessagesPattern() string { return globbed(k.Messages()) }

// channels is what the names of all channels begin with. A channel has no slot,
// hence no tag.
func (k Keys) channels() string { return strings.TrimSuffix(k.base, "{") }

// globbed is text as a pattern that matches only itself.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}

// StoredReply is where the reply of a call with this request id is kept: under the tag
// of the key that the call changes.
func StoredReply(key string, c Caller) lua.StoredReply {
	if c.RequestID == "" {
		return lua.StoredReply{}
	}
	tag := key[:strings.IndexByte(key, '}')]
	return lua.StoredReply{Key: tag + "}:idem:" + Escaped(c.RequestID), Fingerprint: c.Fingerprint}
}

// StoredReplyAlways is stored reply, by an id of its own for a call that has none: what would
// do something else when it is run again can then be tried again here.
func StoredReplyAlways(key string, c Caller) lua.StoredReply {
	if c.RequestID == "" {
		c.RequestID = rand.Text()
	}
	return StoredReply(key, c)
}

// Escaped makes text safe inside a key: %, braces, colons and control bytes
// become %XX, and so do bytes that are not UTF-8, since keys appear in logs and
// spans, which are text. It returns the text itself where nothing is to be done.
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

// Unescaped is the text of which escaped made this one.
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

// IsEscaped reports whether text can be what escaped returned.
func IsEscaped(text string) bool {
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

// CheckText bounds a name, a key or a token as the wire does; field is its key there.
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
