package main

import (
	"fmt"
	"slices"
	"time"
)

// Visit is one request in the site's log; times are since the site opened.
type Visit struct {
	Identity, Shop string
	Arrived, Left  time.Duration
	Status         int
	// RetryAfter is how long the site then asked this identity to wait; 0 = not asked.
	RetryAfter time.Duration
}

// Rate is the rate of one identity: Burst requests at once, and Refill more in each Period.
type Rate struct {
	Burst, Refill int
	Period        time.Duration
}

// perPeriod returns how many requests of an identity a site sees in any Period at
// most: the burst and the refill of the bucket, and one request that was granted
// before the period and was under way.
func (r Rate) perPeriod() int { return r.Burst + r.Refill + 1 }

// rounding is by how much the site's clock and Redis's may differ over a window.
const rounding = 2 * time.Millisecond

// Prove returns the violations in the site's log: two requests of an identity at
// once, more requests than its rate, or a request during a Retry-After.
//
// A visit is granted after the previous visit of its identity has ended and before
// it arrives, so that visits i to j were granted between the end of visit i-1 and
// the arrival of visit j: in that time a bucket grants no more than its burst and
// its refill. This is exact, also when requests take long to reach the site.
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
			return fmt.Sprintf("asked at %v to wait for %v, and back at %v", before.Left, before.RetryAfter, v.Arrived)
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
