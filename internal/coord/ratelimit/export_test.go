package ratelimit

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// LimitKey is the state of a limit.
func LimitKey(k coord.Keys, rule, key, part string) string { return keys{k}.limit(rule, key, part) }

// RulesKey is where rules are.
func RulesKey(k coord.Keys) string { return keys{k}.rules() }

// InFullKey is the state of a limit given in full.
func InFullKey(k coord.Keys, key, algorithm string, bands ...api.Band) string {
	return keys{k}.limit("", key, compile(api.Rule{Algorithm: algorithm, Limits: bands}, 0).part)
}

// Compiled is a limit as the scripts get it.
type Compiled struct {
	Signature string
	Bands     []Band
	Names     []string
	Revision  int64
}

func Compile(bands ...api.Band) Compiled { return CompileBy("token_bucket", bands...) }

func CompileBy(algorithm string, bands ...api.Band) Compiled {
	l := compile(api.Rule{Algorithm: algorithm, Limits: bands}, 0)
	return Compiled{l.signature, l.bands, l.names, l.revision}
}

// Matched is a rule as it applies to one key.
type Matched struct {
	Counted, List, Signature string
	MaxConcurrent            int64
}

// Match finds it for a rule in force.
func (r *Rules) Match(name, key, group string) Matched {
	x, err := r.find(name)
	if err != nil {
		panic(err)
	}
	t := x.of(key, group)
	return Matched{t.counted, t.list, t.lim.signature, t.lim.options.MaxConcurrent}
}

// Taken returns the content of a grant.
type Taken struct {
	ID, Tag, Part string
	Cost, At      int64
}

// GrantOf reads a grant.
func GrantOf(text string) (Taken, error) {
	g, _, err := parseGrant(text)
	return Taken{g.id, g.tag, g.part, g.cost, g.at}, err
}

// Inline finds a limit given in full and reports how many are remembered.
type Inline struct{ l inlineLimits }

func NewInline() *Inline { return &Inline{inlineLimits{known: make(map[inlineKey]*limit)}} }
func (i *Inline) Find(algorithm string, bands []api.Band) error {
	_, err := i.l.find(algorithm, bands)
	return err
}
func (i *Inline) Known() int { return len(i.l.known) }

const MaxInline = maxInline

// Sleeping counts the calls that wait for a slot.
func (l *Limiter) Sleeping() int {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	n := 0
	for _, line := range l.reservations.waiting {
		n += len(line)
	}
	return n
}

// Reserved counts the calls that wait or may, and the requests known by id.
func (l *Limiter) Reserved() (calls, requests int) {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	return l.reservations.n, len(l.reservations.requests)
}

// Callers counts the calls behind the requests known by id.
func (l *Limiter) Callers() int {
	l.reservations.mu.Lock()
	defer l.reservations.mu.Unlock()
	n := 0
	for _, x := range l.reservations.requests {
		n += x.callers
	}
	return n
}

// Remembered counts the refusals and the local limits that are kept.
func (l *Limiter) Remembered() (denials, local int) {
	return l.answers.Len(), l.local.Len()
}

// TextOf and ReadRule are how rules are kept in Redis.
func TextOf(o api.Rule) (string, error)            { return textOf(o) }
func ReadRule(name, text string) (api.Rule, error) { return readRule(name, text) }

// Settled returns when nothing that was charged ahead is on its way back.
func (l *Limiter) Settled(ctx context.Context) error { return l.blocks.settled(ctx) }

// Blocks counts the keys in mode leased of which the limiter keeps a block or the demand.
func (l *Limiter) Blocks() int {
	n := 0
	l.answers.DropIf(func(_ coord.AnswerKey, e coord.Ending) bool {
		if _, ok := e.(*holding); ok {
			n++
		}
		return false
	})
	return n
}

// Unreturned counts the tokens that serve no more calls and that the next charge returns.
func (l *Limiter) Unreturned() int64 {
	n := int64(0)
	l.answers.DropIf(func(_ coord.AnswerKey, e coord.Ending) bool {
		if h, ok := e.(*holding); ok {
			h.mu.Lock()
			n += h.back.left
			h.mu.Unlock()
		}
		return false
	})
	return n
}

// Refused are the keys that were refused most.
type Refused struct{ refusals }

// NewRefused begins to count at a time.
func NewRefused(at time.Time) *Refused { return &Refused{newRefusals(at)} }

// Count takes a refusal.
func (r *Refused) Count(at time.Time, rule, key, reason string) { r.count(at, rule, key, reason) }

// Most lists them.
func (r *Refused) Most(at time.Time) api.InspectRefusals { return r.most(at) }
