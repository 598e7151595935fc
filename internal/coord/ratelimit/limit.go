package ratelimit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// limit is a rule, or a limit given in full, compiled for the scripts. It is immutable.
type limit struct {
	// options is the rule as it applies to the key, overrides included; a limit given in
	// full has only an algorithm and bands, and no name.
	options   api.Rule
	algorithm *algorithm
	revision  int64 // 0 for a limit given in full
	signature string
	terms     string // the algorithm and the signature
	part      string // the part of its state keys after the tag; see statePart
	sizes

	local    gcra
	upstream upstream
	leased   *leaseTerms // nil = each call is decided in Redis
}

// failMode is the fail mode of calls that give none.
func (l *limit) failMode() coord.FailMode {
	return coord.FailMode(l.options.FailMode).Or(coord.FailOpen)
}

// denyCache reports whether a refusal is remembered, and answers later calls locally.
func (l *limit) denyCache() bool { return l.options.DenyCache != "off" }

// sizes are the bands of a limit, by period.
type sizes struct {
	bands  []Band   // as the scripts count them
	names  []string // limit/period, as results name them
	limits []int64  // tokens per period
}

func (s *sizes) add(t Band, b api.Band) {
	s.bands = append(s.bands, t)
	s.names = append(s.names, bandName(b))
	s.limits = append(s.limits, b.Limit)
}

// by returns the bands that a script decided by: s, or those of a newer rule, parsed from
// its signature.
func (s sizes) by(newer string) (sizes, error) {
	if newer == "" {
		return s, nil
	}
	var n sizes
	for text := range strings.SplitSeq(newer, ";") {
		var t Band
		_, err := fmt.Sscanf(text, bandFormat, &t.Capacity, &t.L, &t.P, &t.PeriodMS)
		if err != nil || t.P < 1 {
			return sizes{}, fmt.Errorf("%q is no band of a newer rule", text)
		}
		n.add(t, api.Band{Limit: t.L * (t.PeriodMS * 1000 / t.P), PeriodMS: t.PeriodMS})
	}
	return n, nil
}

// bandFormat is the format of a band in a signature.
const bandFormat = "%d/%d/%d/%d"

// compile makes a limit of a rule that was checked.
func compile(o api.Rule, revision int64) *limit {
	bands := slices.Clone(o.Limits)
	for i := range bands {
		bands[i] = less(bands[i], o.HeadroomPercent)
	}
	slices.SortFunc(bands, func(a, b api.Band) int { return cmp.Compare(a.PeriodMS, b.PeriodMS) })
	l := &limit{options: o, algorithm: algorithmNamed(o.Algorithm), revision: revision}
	texts := make([]string, 0, len(bands))
	for _, b := range bands {
		t := l.algorithm.reduced(b)
		l.add(t, b)
		texts = append(texts, fmt.Sprintf(bandFormat, t.Capacity, t.L, t.P, t.PeriodMS))
	}
	l.signature = strings.Join(texts, ";")
	l.terms = o.Algorithm + " " + l.signature
	l.part = statePart(o.Name, o.Algorithm, l.signature)
	l.local = share(l.bands, max(1, o.LocalShareOf))
	l.upstream = upstreamOf(o)
	l.leased = leaseTermsOf(o, l.algorithm, bands)
	return l
}

// less reduces the limit and the burst of a band by percent, rounded down. A burst stays at
// least 1.
func less(b api.Band, percent int64) api.Band {
	kept := 100 - percent
	b.Limit = b.Limit * kept / 100
	if b.Burst > 0 {
		b.Burst = max(1, b.Burst*kept/100)
	}
	return b
}

// reduced divides limit and period by their greatest common divisor, so that the products
// in scripts stay small: 80 per 10 minutes is 1 per 7.5 s.
func (a *algorithm) reduced(b api.Band) Band {
	us := b.PeriodMS * 1000
	g := gcd(b.Limit, us)
	return Band{Capacity: a.capacity(b), L: b.Limit / g, P: us / g, PeriodMS: b.PeriodMS}
}

// lean reports whether the lean script charges the limit.
func (l *limit) lean() bool {
	return l.algorithm.lean && len(l.bands) == 1 && l.options.MaxConcurrent == 0
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

var units = []struct {
	name string
	ms   int64
}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}}

// bandName is limit/period in the largest unit that leaves a whole number:
// 80/10m, 10/1s, 3/1500ms.
func bandName(b api.Band) string {
	for _, u := range units {
		if b.PeriodMS%u.ms == 0 {
			return fmt.Sprintf("%d/%d%s", b.Limit, b.PeriodMS/u.ms, u.name)
		}
	}
	return fmt.Sprintf("%d/%dms", b.Limit, b.PeriodMS)
}

// maxInline is how many compiled limits given in full are kept. Callers choose them, so
// that their number must be bounded.
const maxInline = 1024

// inlineLimits compiles limits given in full once, by content.
type inlineLimits struct {
	mu    sync.RWMutex // guards known
	known map[inlineKey]*limit
}

// inlineKey is the content of a limit given in full, as a comparable value: a look-up
// allocates nothing.
type inlineKey struct {
	algorithm string
	n         int
	bands     [api.MaxBands]api.Band
}

func (l *inlineLimits) find(algorithm string, bands []api.Band) (*limit, error) {
	key := inlineKey{algorithm: algorithm, n: len(bands)}
	copy(key.bands[:], bands)
	l.mu.RLock()
	c, ok := l.known[key]
	l.mu.RUnlock()
	if ok {
		return c, nil
	}
	var p coord.Problems
	if checkLimit(&p, "", algorithm, bands); p != nil {
		return nil, coord.Invalid("%s", strings.ReplaceAll(p.Error(), "\n", "; "))
	}
	c = compile(api.Rule{Algorithm: algorithm, Limits: bands}, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxInline {
		// Any one is removed: a limit in use is compiled again at its next call.
		for victim := range l.known {
			delete(l.known, victim)
			break
		}
	}
	l.known[key] = c
	return c, nil
}
