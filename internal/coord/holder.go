package coord

import "time"

// Holder is who holds a member of a pool.
type Holder struct {
	Identity
	Since time.Time // by the Redis server's clock
	Meta  string
}

func holder(client, instance, meta string, sinceMS int64) *Holder {
	return &Holder{Identity: Identity{client, instance}, Since: time.UnixMilli(sinceMS), Meta: meta}
}
