package clienttest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// model is the state that a real sidecar keeps in Redis. The mutex of the sidecar guards all of it.
type model struct {
	fences uint64
	leases map[string]*lease    // by token
	lines  map[string][]*int    // waiting lines: the waiting calls, by the name of the line
	clocks map[string]time.Time // by name: when a fact stored under it, such as a release, is forgotten

	rules    map[string]*api.Rule
	buckets  map[string]*bucket
	paces    map[string]*pace
	grants   map[string]*grant
	policies map[string]api.BreakerPolicy
	breakers map[string]*breaker
	pools    map[string]*pool
	queues   map[string]*queue
	streams  map[string]*stream
	topics   []*topic
}

func newModel() model {
	return model{
		leases: make(map[string]*lease), lines: make(map[string][]*int), clocks: make(map[string]time.Time),
		rules: make(map[string]*api.Rule), buckets: make(map[string]*bucket), paces: make(map[string]*pace), grants: make(map[string]*grant),
		policies: make(map[string]api.BreakerPolicy), breakers: make(map[string]*breaker), pools: make(map[string]*pool),
		queues: make(map[string]*queue), streams: make(map[string]*stream),
	}
}

// modelled are the methods that have a model.
func modelled() map[string]method {
	t := make(map[string]method)
	sessionMethods(t)
	ratelimitMethods(t)
	lockMethods(t)
	semaphoreMethods(t)
	breakerMethods(t)
	poolMethods(t)
	queueMethods(t)
	seenMethods(t)
	streamMethods(t)
	pubsubMethods(t)
	return t
}

// lease is anything that is held for a time.
type lease struct {
	number          int    // in the order of grants
	noun, name, key string // key: of seen
	token           string
	fence           uint64
	permits         int64                    // of a semaphore
	member          *member                  // of pool and permit
	scope           string                   // what the member is used for
	rule            string                   // of a permit
	breaker         *api.BreakerReportParams // of a permit: the report to make of its outcome
	entry           *entry                   // of a queue
	delivery        *delivery                // of a stream
	from            *conn                    // the session that acquired it
	on              *conn                    // the session that it is bound to; nil = it is bound to its TTL
	ttl             time.Duration
	ends            time.Time // the end of its TTL; ignored while it is bound to a session
	last            time.Time // the end of its longest hold; zero = none
	holder          api.Holder
	freed           func() // called when it ends, to give back what it leased, such as an entry; may be nil
}

// grant makes a lease for the caller's session.
func (c *call) grant(noun, name, token, bind string, ttl time.Duration) *lease {
	l := c.s.grantTo(c.cn, noun, name, token, bind, ttl)
	c.held = c.held || l.on != nil
	return l
}

// grantTo makes a lease for a session, and binds it to the session unless bind is ttl.
func (s *Sidecar) grantTo(cn *conn, noun, name, token, bind string, ttl time.Duration) *lease {
	s.fences++
	if token == "" {
		token = fmt.Sprintf("%s-%d", noun, s.fences)
	}
	l := &lease{
		number: int(s.fences), noun: noun, name: name, token: token, fence: s.fences, from: cn, ttl: ttl, ends: s.now().Add(ttl),
		holder: api.Holder{Client: cn.hello.Client, Instance: cn.hello.Instance, SinceAtMS: s.now().UnixMilli()},
	}
	if bind != api.BindTTL {
		l.on = cn
	}
	s.leases[noun+"\x00"+token] = l
	return l
}

// leased returns the lease with this token if it has this name, else nil.
func (m *model) leased(noun, name, token string) *lease {
	if l := m.leases[noun+"\x00"+token]; l != nil && l.name == name {
		return l
	}
	return nil
}

// of returns the leases of a name, the oldest first.
func (m *model) of(noun, name string) []*lease {
	return slices.DeleteFunc(m.sortedLeases(), func(l *lease) bool { return l.noun != noun || l.name != name })
}

// sortedLeases returns all leases, the oldest first.
func (m *model) sortedLeases() []*lease {
	return slices.SortedFunc(maps.Values(m.leases), func(a, b *lease) int { return a.number - b.number })
}

func (l *lease) fenceText() string { return strconv.FormatUint(l.fence, 10) }

// left returns how long a lease lasts unless it is renewed.
func (s *Sidecar) left(l *lease) time.Duration {
	left := l.ends.Sub(s.now())
	if l.on != nil {
		left = l.ttl // a session renews its leases all the time
	}
	if !l.last.IsZero() {
		left = min(left, l.last.Sub(s.now()))
	}
	return max(left, 0)
}

// renew starts a new TTL of a lease.
func (s *Sidecar) renew(l *lease, ttl time.Duration) { l.ttl, l.ends = ttl, s.now().Add(ttl) }

// drop ends a lease without a notification.
func (s *Sidecar) drop(l *lease, reason string) {
	if s.leases[l.noun+"\x00"+l.token] != l {
		return // it ended with another one a moment ago
	}
	delete(s.leases, l.noun+"\x00"+l.token)
	s.clocks["ended\x00"+l.noun+"\x00"+l.token+"\x00"+reason] = s.now().Add(150 * time.Second)
	if l.freed != nil {
		l.freed()
	}
}

// lose ends a lease, and notifies its holder if the lease is bound to a session. A probe counts as bound.
func (s *Sidecar) lose(l *lease, reason string) {
	live := s.leases[l.noun+"\x00"+l.token] == l
	s.drop(l, reason)
	if !live || !s.conns[l.from] || l.on == nil && l.noun != "breaker" {
		return
	}
	p := api.LostParams{Name: l.name, Token: l.token, Fence: l.fenceText(), Reason: reason}
	switch {
	case l.noun == "breaker":
		p.Name = l.key
	case l.delivery != nil:
		p.Name, p.Token, p.Fence = escaped(l.name)+":"+escaped(l.delivery.group.name), l.delivery.m.id, ""
	case l.key != "":
		p.Name = escaped(l.name) + ":" + escaped(l.key)
	}
	l.from.notify(l.noun+".lost", p)
}

// escaped escapes one part of the name in a notification of a loss whose name has two parts.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c == 0x7f || strings.IndexByte("%{}:", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// due returns when a lease ends by itself; ok is false if it does not.
func (l *lease) due() (time.Time, bool) {
	switch {
	case l.on == nil && (l.last.IsZero() || l.ends.Before(l.last)):
		return l.ends, true
	case !l.last.IsZero():
		return l.last, true
	default:
		return time.Time{}, false
	}
}

// expire ends leases and releases delayed messages that are due, and reports whether there were any.
func (s *Sidecar) expire() bool {
	now, changed := s.now(), false
	for _, l := range s.sortedLeases() {
		if at, ok := l.due(); ok && !now.Before(at) {
			reason := "expired"
			if at.Equal(l.last) {
				reason = "max_hold"
			}
			s.lose(l, reason)
			changed = true
		}
	}
	maps.DeleteFunc(s.clocks, func(_ string, at time.Time) bool { return !now.Before(at) })
	for _, st := range s.streams {
		changed = s.ripen(st) || changed
	}
	return changed
}

// nextDue returns when the next lease or message is due for expire.
func (s *Sidecar) nextDue() (at time.Time, ok bool) {
	sooner := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, l := range s.leases {
		if t, ends := l.due(); ends {
			sooner(t)
		}
	}
	for _, st := range s.streams {
		for _, d := range st.delayed {
			sooner(d.at)
		}
		for _, g := range st.groups {
			for _, d := range g.waiting {
				if !d.at.IsZero() {
					sooner(d.at)
				}
			}
		}
	}
	return at, ok
}

// page returns one page of a list sorted by name: at most count names after the cursor, and the next cursor.
func page[T any](all map[string]T, cursor string, count int64) (names []string, next string) {
	names = slices.Sorted(maps.Keys(all))
	from, _ := slices.BinarySearch(names, cursor)
	if cursor != "" && from < len(names) && names[from] == cursor {
		from++
	}
	names = names[min(from, len(names)):]
	if count = cmp.Or(count, 100); int64(len(names)) > count {
		names = names[:count]
		next = names[count-1]
	}
	return names, next
}

func millis(d time.Duration) int64 { return max(api.Millis(d), 0) }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
