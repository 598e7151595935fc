package chaostest

import (
	"fmt"
	"time"
)

// Count is the answer of one call of pool.stats.
type Count struct {
	Name                               string
	Call, Return                       time.Duration
	Total, Live, Cooling, Banned, Free int64
}

func (c Count) String() string {
	return fmt.Sprintf("%s..%s %s: %d live, %d cooling, %d banned, %d free of %d",
		at(c.Call), at(c.Return), c.Name, c.Live, c.Cooling, c.Banned, c.Free, c.Total)
}

// Complete reports counts whose parts do not add up to their total, and, until intact, while nothing can have been
// lost, totals that are not the number of members.
func Complete(counts []Count, members int64, intact time.Duration) []Violation {
	var found []Violation
	for _, c := range counts {
		switch {
		case c.Live+c.Cooling+c.Banned+c.Free != c.Total:
			found = append(found, Violation{Rule: "members", What: c.Name + ": the parts do not make the total", Part: texts(c)})
		case c.Total != members && c.Return < intact:
			found = append(found, Violation{Rule: "members", What: fmt.Sprintf("%s: not all of the %d members are there", c.Name, members), Part: texts(c)})
		}
	}
	return found
}

// Opening is a report by the holder of a member, after which the member's breaker was open. The breaker was not open
// when the permit was given out, so it opened between the call and its return.
type Opening struct {
	Client, Key  string
	Call, Return time.Duration
}

func (o Opening) String() string {
	return fmt.Sprintf("%s..%s breaker of %s opened by a report of %s", at(o.Call), at(o.Return), o.Key, o.Client)
}

// Shut reports permits that were asked for after a member's breaker had opened, and were granted before the breaker can
// have let a call through, which is openFor after the report was sent at the earliest. Grants after intact do not
// count.
func Shut(opened []Opening, charges []Charge, openFor, intact time.Duration) []Violation {
	var found []Violation
	for _, o := range opened {
		for _, c := range charges {
			if c.Key == o.Key && c.Admitted && c.Sent > o.Return && c.Received < min(o.Call+openFor, intact) {
				found = append(found, Violation{
					Rule: "open", What: o.Key + ": a permit while its breaker was open", Part: append(texts(o), c.String()),
				})
			}
		}
	}
	return found
}
