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

// grant is what an acquisition took, told to the caller as text, so that any
// sidecar can undo it without having kept anything.
type grant struct {
	id   string // unlike any other under its tag; no dots
	tag  string // of its keys: the rule and what is counted
	part string // of the key of its state: see statePart
	cost int64
	at   int64 // when it may be used, by the Redis server's clock, Unix microseconds
}

// grantVersion is bumped when the text changes its meaning: grants outlive
// rollouts. Those of version 1 had no seal.
const grantVersion = "2"

// appendBody adds all that a grant says: its head, which the seal follows in the text
// of the grant, and its tag. No tag begins with digits and a dot, so that two grants
// never have one body.
func (g grant) appendBody(b []byte) (body []byte, head int) {
	for _, text := range [...]string{grantVersion, g.id, g.part} {
		b = append(append(b, text...), '.')
	}
	for _, n := range [...]int64{g.cost, g.at} {
		b = append(strconv.AppendInt(b, n, 36), '.')
	}
	return append(b, g.tag...), len(b)
}

// text is the grant as callers see it: the seal between head and tag, which comes
// last since it may have dots.
func (g grant) text(s *seals) string {
	room, _ := grantTexts.Get().(*[]byte)
	b, head := g.appendBody((*room)[:0])
	b = append(append(s.appendSeal(b[:head], b), '.'), g.tag...)
	text := string(b)
	*room = b
	grantTexts.Put(room)
	return text
}

// grantTexts are buffers in which grants are written.
var grantTexts = sync.Pool{New: func() any { return new([]byte) }}

// parseGrant reads what a caller says a grant is, and the seal on it, empty where
// it has none. Nothing but a tag that limits may have gets through: it becomes
// part of a key.
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

// rule is the name of its rule as keys have it, empty for a limit given in full.
func (g grant) rule() string {
	rule, _, _ := strings.Cut(g.tag, ":")
	return rule
}

// grantIDs makes ids that no two grants of the fleet share: a random part of the
// process, and a count.
type grantIDs struct {
	process string
	count   *atomic.Uint64
}

func newGrantIDs() grantIDs { return grantIDs{rand.Text()[:16], new(atomic.Uint64)} }

// of makes the id of what a call may take. With a request id it is made of that,
// so that the repetition of a call is told the grant of the first, in whichever
// sidecar.
func (g grantIDs) of(c coord.Caller) string {
	if c.RequestID == "" {
		b := make([]byte, 0, 32)
		return string(strconv.AppendUint(append(b, g.process...), g.count.Add(1), 36))
	}
	// The length first: no two pairs make the same text.
	b := append(make([]byte, 0, 256), "grant "...)
	b = append(strconv.AppendInt(b, int64(len(c.RequestID)), 10), ' ')
	sum := sha256.Sum256(append(append(b, c.RequestID...), c.Fingerprint...))
	return string(hex.AppendEncode(b[:0], sum[:16]))
}

// grantedFor is the rule that a grant was made by, and what it counts: the key or
// its group. It is false for what is no grant.
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
