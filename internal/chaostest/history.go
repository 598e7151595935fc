package chaostest

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"
)

// Never is the return of a call with an unknown outcome: it may take effect at any
// time after it was sent, or not at all.
const Never = time.Duration(math.MaxInt64)

// Kind is the operation that a client called.
type Kind string

// The operations on locks and semaphores, those on breakers, and those that end the lease of a queue's entry or of a
// message besides Release.
const (
	Acquire Kind = "acquire"
	Renew   Kind = "renew"
	Release Kind = "release"
	Allow   Kind = "allow"
	Report  Kind = "report"
	Ack     Kind = "ack"
	Nack    Kind = "nack"
)

// Outcome is the answer that a client got.
type Outcome string

// The outcomes. Gone is the answer to a repeated acquire whose grant had ended.
const (
	Acquired Outcome = "acquired"
	Busy     Outcome = "busy"
	Gone     Outcome = "gone"
	Renewed  Outcome = "renewed"
	Released Outcome = "released"
	Expired  Outcome = "expired"
	NotOwner Outcome = "not_owner"
	Acked    Outcome = "acked"
	Nacked   Outcome = "nacked"
	Unknown  Outcome = "unknown"
)

// LockOp is one operation on one lock or semaphore, from its first try to the
// answer that settled it. All times of a history are of one monotonic clock, from
// its start.
type LockOp struct {
	Client       string
	Kind         Kind
	Name, Token  string
	Call, Return time.Duration // Return is Never when Outcome is Unknown
	Outcome      Outcome
	Fence        uint64 // of Acquired and Renewed
	// Limit is that of the semaphore, 0 for a lock. Permits is how many permits the call asks for.
	Limit, Permits int64
}

func (o LockOp) String() string {
	s := fmt.Sprintf("%s..%s %-7s %s %s by %s: %s fence=%d", at(o.Call), at(o.Return), o.Kind, o.Name, o.Token, o.Client, o.Outcome, o.Fence)
	if o.Limit > 0 {
		s += fmt.Sprintf(" permits=%d of %d", o.Permits, o.Limit)
	}
	return s
}

// Hold is a grant to a session, which its client considers valid from From to Until.
type Hold struct {
	Client, Name, Token string
	Fence               uint64
	Call, From, Until   time.Duration
	End                 string // why the client no longer considers it valid
	// Of is the object that makes the fences if it is not the held one: the pool of a member.
	Of string
	// Limit and Permits are as in LockOp.
	Limit, Permits int64
}

func (h Hold) String() string {
	s := fmt.Sprintf("%s..%s %s held by %s until %s (%s) fence=%d", at(h.Call), at(h.From), h.Name, h.Client, at(h.Until), h.End, h.Fence)
	if h.Limit > 0 {
		s += fmt.Sprintf(" permits=%d of %d", h.Permits, h.Limit)
	}
	return s
}

// Charge is one call to a limit.
type Charge struct {
	Key            string
	Cost           int64
	Sent, Received time.Duration
	// Admitted and Unknown are both false for a refusal, and for a call that was certainly not carried out.
	Admitted, Unknown bool
}

func (c Charge) String() string {
	return fmt.Sprintf("%s..%s %s cost=%d admitted=%v unknown=%v", at(c.Sent), at(c.Received), c.Key, c.Cost, c.Admitted, c.Unknown)
}

// Wait is a call that was in a waiting line.
type Wait struct {
	Client, Name string
	Call, Return time.Duration
	Limit        time.Duration // how long after Call the answer may come
	Outcome      Outcome
}

func (w Wait) String() string {
	return fmt.Sprintf("%s..%s %s waited for by %s up to %v: %s", at(w.Call), at(w.Return), w.Name, w.Client, w.Limit, w.Outcome)
}

func at(t time.Duration) string {
	if t == Never {
		return "never"
	}
	return fmt.Sprintf("%.4fs", t.Seconds())
}

// History is what the clients of one run recorded.
type History struct {
	start time.Time

	mu      sync.Mutex // guards what follows
	Ops     []LockOp
	Holds   []Hold
	Charges []Charge
	Waits   []Wait
	Counts  []Count
	Opened  []Opening
	Entries []Entry
	Given   []Delivery
	Asked   []BreakerOp
	// The following fields are about streams, as in Messages.
	Posted  []Posted
	Handled []Handling
	Cuts    []Span
	Logs    map[string][]string
	Letters []Letter
	// Strange are answers that no fault can explain.
	Strange []Violation
}

// NewHistory starts the clock.
func NewHistory() *History {
	return &History{start: time.Now(), Logs: make(map[string][]string)}
}

// Now returns the time of the history's clock.
func (h *History) Now() time.Duration { return time.Since(h.start) }

func (h *History) add(record func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	record()
}

// Grant is a grant of a lock, a member or permits to a token, for the rules about fences.
type Grant struct {
	Name, Token  string
	Call, Return time.Duration
	Fence        uint64
	// Shared reports that others may hold the object too, so that a token may repeat its own grant after later ones.
	Shared bool
}

func (g Grant) String() string {
	return fmt.Sprintf("%s..%s %s to %s fence=%d", at(g.Call), at(g.Return), g.Name, g.Token, g.Fence)
}

// Grants returns all grants of the history, in no order.
func (h *History) Grants() []Grant {
	var all []Grant
	for _, o := range h.Ops {
		if o.Kind == Acquire && o.Outcome == Acquired {
			all = append(all, Grant{o.Name, o.Token, o.Call, o.Return, o.Fence, o.Limit > 0})
		}
	}
	for _, x := range h.Holds {
		all = append(all, Grant{cmp.Or(x.Of, x.Name), x.Token, x.Call, x.From, x.Fence, x.Limit > 0 || x.Of != ""})
	}
	return all
}

// Violation is a rule that a history breaks, and the part of the history that shows it.
type Violation struct {
	Rule string
	What string
	Part []string
}

func (v Violation) String() string {
	s := v.Rule + ": " + v.What
	for _, line := range v.Part {
		s += "\n    " + line
	}
	return s
}

// texts returns the lines of a violation's part.
func texts[T fmt.Stringer](of ...T) []string {
	lines := make([]string, len(of))
	for i, x := range of {
		lines[i] = x.String()
	}
	return lines
}
