package chaostest

import (
	"fmt"
	"time"
)

// Count is what pool.stats said.
type Count struct {
	Name                               string
	Call, Return                       time.Duration
	Total, Live, Cooling, Banned, Free int64
}

func (c Count) String() string {
	return fmt.Sprintf("%s..%s %s: %d live, %d cooling, %d banned, %d free of %d",
		at(c.Call), at(c.Return), c.Name, c.Live, c.Cooling, c.Banned, c.Free, c.Total)
}

// Complete reports counts whose parts do not make their total, and, for as long
// as nothing can have been lost, totals that are not all the members.
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

// Opening is a report on a member that was its holder's, after which its breaker
// was open. It was not before, or there had been no permit: so it opened between
// the call and its return.
type Opening struct {
	Client, Key  string
	Call, Return time.Duration
}

func (o Opening) String() string {
	return fmt.Sprintf("%s..%s breaker of %s opened by a report of %s", at(o.Call), at(o.Return), o.Key, o.Client)
}

// Shut reports permits that were asked for when a member's breaker had opened and
// were had before it can have let anyone pass, which is openFor after the report
// was sent at the earliest.
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
