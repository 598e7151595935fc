package redis

import "sync/atomic"

// Crowd decides whether a new call counts as alone. A call that is alone takes the path with
// the lowest latency, others take the path that is cheapest for many.
type Crowd struct{ left atomic.Int64 }

// crowdLasts is how many calls after the last overlap still do not count as alone. With a few
// callers each is often alone for a moment, and mixing the two paths costs more than it saves.
const crowdLasts = 16

// Alone reports whether a call is alone; others is set if other calls are under way.
func (c *Crowd) Alone(others bool) bool {
	left := c.left.Load()
	switch {
	case others:
		if left != crowdLasts {
			c.left.Store(crowdLasts)
		}
		return false
	case left > 0:
		c.left.Store(left - 1)
		return false
	}
	return true
}
