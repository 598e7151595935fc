package main

import (
	"fmt"
	"slices"
	"time"
)

// Visit is one request as the site saw it, in the time since it opened.
type Visit struct {
	Identity, Shop string
	Arrived, Left  time.Duration
	Status         int
	// RetryAfter is for how long the site then wanted to be left alone by this
	// identity.
	RetryAfter time.Duration
}

// Rate is what one identity may do: Burst at once, and Refill more in each Period.
type Rate struct {
	Burst, Refill int
	Period        time.Duration
}

// perPeriod is what a site sees of an identity in any Period at most: what the
// bucket had and got, and one request that was granted before the period and was
// on its way.
func (r Rate) perPeriod() int { return r.Burst + r.Refill + 1 }

// rounding is what the site's clock and Redis's may differ by over a window.
const rounding = 2 * time.Millisecond

// Prove returns what the site's log shows an identity to have done that it may
// not: two requests at once, more than the rate, or one while it was asked to
// keep away.
//
// Grants are made after the visit before has ended and before their own arrives,
// so that visits i to j are grants of the time between the end of visit i-1 and
// the arrival of visit j: a bucket gives no more than its burst and what refills
// in that time. It is no estimate, and a slow way to the site does not weaken it.
func Prove(visits []Visit, r Rate) []string {
	of := make(map[string][]Visit)
	for _, v := range visits {
		of[v.Identity] = append(of[v.Identity], v)
	}
	var wrong []string
	for identity, vs := range of {
		slices.SortFunc(vs, func(a, b Visit) int { return int(a.Arrived - b.Arrived) })
		for _, what := range []string{together(vs), tooSoon(vs), tooMany(vs, r), tooManyPerPeriod(vs, r)} {
			if what != "" {
				wrong = append(wrong, identity+": "+what)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func together(byArrival []Visit) string {
	for i, v := range byArrival[1:] {
		if before := byArrival[i]; v.Arrived < before.Left {
			return fmt.Sprintf("used twice at once: one request from %v to %v, another one from %v", before.Arrived, before.Left, v.Arrived)
		}
	}
	return ""
}

func tooSoon(byArrival []Visit) string {
	for i, v := range byArrival[1:] {
		before := byArrival[i]
		if before.RetryAfter > 0 && v.Arrived+rounding < before.Left+before.RetryAfter {
			return fmt.Sprintf("asked at %v to keep away for %v, and back at %v", before.Left, before.RetryAfter, v.Arrived)
		}
	}
	return ""
}

func tooMany(byArrival []Visit, r Rate) string {
	for i := 1; i < len(byArrival); i++ {
		since := byArrival[i-1].Left
		for j := i; j < len(byArrival); j++ {
			window := byArrival[j].Arrived - since + rounding
			most := float64(r.Burst) + float64(r.Refill)*window.Seconds()/r.Period.Seconds()
			if n := j - i + 1; float64(n) > most {
				return fmt.Sprintf("above its rate: %d requests in the %v before %v, at most %.2f are allowed", n, window, byArrival[j].Arrived, most)
			}
		}
	}
	return ""
}

func tooManyPerPeriod(byArrival []Visit, r Rate) string {
	most := r.perPeriod()
	for i := 0; i+most < len(byArrival); i++ {
		if window := byArrival[i+most].Arrived - byArrival[i].Arrived; window+rounding < r.Period {
			return fmt.Sprintf("above its rate: %d requests in the %v before %v, at most %d are allowed", most+1, window, byArrival[i+most].Arrived, most)
		}
	}
	return ""
}
