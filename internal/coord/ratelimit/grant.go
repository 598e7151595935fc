package ratelimit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// grant is what an acquisition took. The caller gets it as a text that contains all that a
// sidecar needs to undo it, so that no sidecar has to keep it.
type grant struct {
	id   string // unique under its tag; no dots
	tag  string // the hash tag of its Redis keys: the rule, and the key or group
	part string // the part of its state's Redis key after the tag: see statePart
	cost int64
	at   int64 // when it may be used, by the Redis server's clock, Unix microseconds
}

// grantVersion is bumped when the meaning of the text changes, since grants outlive rollouts.
// Grants of version 1 had no seal.
const grantVersion = "2"

// appendBody appends the body of a grant, which is sealed: the head, which the seal follows in
// the grant's text, and the tag. head is the length up to the tag. No tag begins with digits
// and a dot, so that two grants never have the same body.
func (g grant) appendBody(b []byte) (body []byte, head int) {
	for _, text := range [...]string{grantVersion, g.id, g.part} {
		b = append(append(b, text...), '.')
	}
	for _, n := range [...]int64{g.cost, g.at} {
		b = append(strconv.AppendInt(b, n, 36), '.')
	}
	return append(b, g.tag...), len(b)
}

// text is the grant as callers get it: head, seal and tag. The tag comes last, since it may
// contain dots.
func (g grant) text(s *seals) string {
	room, _ := grantTexts.Get().(*[]byte)
	b, head := g.appendBody((*room)[:0])
	b = append(append(s.appendSeal(b[:head], b), '.'), g.tag...)
	text := string(b)
	*room = b
	grantTexts.Put(room)
	return text
}

// grantTexts has the buffers in which grants are written.
var grantTexts = sync.Pool{New: func() any { return new([]byte) }}

// parseGrant parses a grant that a caller gave, and its seal, which is empty in version 1. It
// accepts only tags that limits can have, since the tag becomes part of Redis keys.
func parseGrant(text string) (g grant, seal string, err error) {
	bad := coord.Invalid("grant: this is not one; give the grant of a ratelimit.acquire as it was")
	version, rest, _ := strings.Cut(text, ".")
	n := 5
	if version == grantVersion {
		n = 6
	}
	parts := strings.SplitN(rest, ".", n)
	if len(parts) != n || version != grantVersion && version != "1" || parts[0] == "" {
		return grant{}, "", bad
	}
	g = grant{id: parts[0], part: parts[1], tag: parts[n-1]}
	if n == 6 {
		seal = parts[4]
	}
	var errCost, errAt error
	g.cost, errCost = strconv.ParseInt(parts[2], 36, 64)
	g.at, errAt = strconv.ParseInt(parts[3], 36, 64)
	rule, key, colon := strings.Cut(g.tag, ":")
	switch {
	case errCost != nil || errAt != nil || g.cost < 0 || g.cost > coord.MaxLimit || g.at < 0,
		!isStatePart(rule, g.part), !colon || key == "", !coord.IsEscaped(rule) || !coord.IsEscaped(key),
		len(g.id) > 64 || strings.ContainsFunc(g.id, func(r rune) bool { return r < '-' || r > 'z' }):
		return grant{}, "", bad
	}
	return g, seal, nil
}

// rule is the name of its rule, escaped as in keys; empty for a limit given in full.
func (g grant) rule() string {
	rule, _, _ := strings.Cut(g.tag, ":")
	return rule
}

// grantIDs makes ids that are unique in the fleet: a random text of the process, and a count.
type grantIDs struct {
	process string
	count   *atomic.Uint64
}

func newGrantIDs() grantIDs { return grantIDs{rand.Text()[:16], new(atomic.Uint64)} }

// of makes the id of a call's grant. With a request id the id is derived from it, so that a
// repetition of the call gets the same grant, from any sidecar.
func (g grantIDs) of(c coord.Caller) string {
	if c.RequestID == "" {
		b := make([]byte, 0, 32)
		return string(strconv.AppendUint(append(b, g.process...), g.count.Add(1), 36))
	}
	// The length comes first, so that two different pairs never make the same text.
	b := append(make([]byte, 0, 256), "grant "...)
	b = append(strconv.AppendInt(b, int64(len(c.RequestID)), 10), ' ')
	sum := sha256.Sum256(append(append(b, c.RequestID...), c.Fingerprint...))
	return string(hex.AppendEncode(b[:0], sum[:16]))
}

// grantedFor returns the rule of a grant, and the key or group that it counts under. ok is
// false if the text is not a grant.
func grantedFor(text string) (rule, counted string, ok bool) {
	g, _, err := parseGrant(text)
	if err != nil {
		return "", "", false
	}
	rule, counted, _ = strings.Cut(g.tag, ":")
	return coord.Unescaped(rule), coord.Unescaped(counted), true
}

// granted returns the grant of a charge as text.
func (l *Limiter) granted(q question, out answer) string {
	at := out.Value.NowUS
	if out.Value.Reserved() {
		at += out.Value.RetryAfterUS
	}
	if q.id == "" {
		q.id = l.grantIDs.of(q.caller)
	}
	return grant{id: q.id, tag: q.tag, part: q.lim.part, cost: q.cost, at: at}.text(l.seals)
}
