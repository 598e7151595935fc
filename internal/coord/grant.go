package coord

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
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

// grantVersion is bumped when the text changes its meaning: grants outlive rollouts.
const grantVersion = "1"

// String is the grant as callers see it. The tag comes last, since it may have dots.
func (g grant) String() string {
	var b strings.Builder
	var number [16]byte // an int64 has at most 13 digits of base 36
	b.Grow(len(g.id) + len(g.part) + len(g.tag) + 2*len(number) + 8)
	for _, text := range [...]string{grantVersion, g.id, g.part} {
		b.WriteString(text)
		b.WriteByte('.')
	}
	for _, n := range [...]int64{g.cost, g.at} {
		b.Write(strconv.AppendInt(number[:0], n, 36))
		b.WriteByte('.')
	}
	b.WriteString(g.tag)
	return b.String()
}

// parseGrant reads what a caller says a grant is. Nothing but a tag that limits
// may have gets through: it becomes part of a key.
func parseGrant(text string) (grant, error) {
	bad := invalid("grant: this is not one; give the grant of a ratelimit.acquire as it was")
	parts := strings.SplitN(text, ".", 6)
	if len(parts) != 6 || parts[0] != grantVersion || parts[1] == "" {
		return grant{}, bad
	}
	g := grant{id: parts[1], part: parts[2], tag: parts[5]}
	var err, errAt error
	g.cost, err = strconv.ParseInt(parts[3], 36, 64)
	g.at, errAt = strconv.ParseInt(parts[4], 36, 64)
	rule, key, colon := strings.Cut(g.tag, ":")
	switch {
	case err != nil || errAt != nil || g.cost < 0 || g.cost > maxLimit || g.at < 0,
		!isStatePart(rule, g.part), !colon || key == "", !isEscaped(rule) || !isEscaped(key),
		len(g.id) > 64 || strings.ContainsFunc(g.id, func(r rune) bool { return r < '-' || r > 'z' }):
		return grant{}, bad
	}
	return g, nil
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
func (g grantIDs) of(c Caller) string {
	if c.RequestID == "" {
		b := make([]byte, 0, 32)
		return string(strconv.AppendUint(append(b, g.process...), g.count.Add(1), 36))
	}
	// The length first: no two pairs make the same text.
	sum := sha256.Sum256(fmt.Appendf(nil, "grant %d %s%s", len(c.RequestID), c.RequestID, c.Fingerprint))
	return hex.EncodeToString(sum[:16])
}

// GrantedFor is the rule that a grant was made by, and what it counts: the key or
// its group. It is false for what is no grant.
func GrantedFor(text string) (rule, counted string, ok bool) {
	g, err := parseGrant(text)
	if err != nil {
		return "", "", false
	}
	rule, counted, _ = strings.Cut(g.tag, ":")
	return unescaped(rule), unescaped(counted), true
}

// granted is what a script took, as text.
func (l *RateLimiter) granted(q question, out answer) string {
	at := out.Value.NowUS
	if out.Value.Reserved {
		at += out.Value.RetryAfterUS
	}
	if q.id == "" {
		q.id = l.grantIDs.of(q.caller)
	}
	return grant{id: q.id, tag: q.tag, part: q.lim.part, cost: q.cost, at: at}.String()
}
