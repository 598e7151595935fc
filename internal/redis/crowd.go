package redis

import "sync/atomic"

// Crowd tells whether a call that comes is alone. A call that is goes the way that is fastest
// for one, the others the way that is cheapest for many.
type Crowd struct{ left atomic.Int64 }

// crowdLasts is how many calls after the last overlap still count as many. With a few callers
// each is often alone for a moment, and mixing the two ways costs more than it saves.
const crowdLasts = 16

// Alone reports whether a call is alone; others tells that some are under way.
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
