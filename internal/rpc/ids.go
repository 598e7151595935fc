package rpc

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// requestIDs are the request ids of the last minutes and what they were used for.
// Redis remembers an id beside what its call acts on, and so cannot tell that one
// was used for something else; the sidecar that sees both can. Only hashes are kept.
type requestIDs struct {
	mu sync.Mutex // guards what follows
	// fresh has those since the last turn, stale those of before.
	fresh, stale map[uint64]uint64
	turned       time.Time
}

const (
	// keepIDs is how long an id is remembered, as long as replies are by one.
	keepIDs = 150 * time.Second
	// maxIDs bounds each of the two generations: 2 MB at most, and then ids are
	// forgotten earlier.
	maxIDs = 1 << 15
)

// seed is of the hashes of ids, so that no client can make two meet.
var seed = maphash.MakeSeed()

// check refuses a call whose request id was used for another one. Methods that may
// be repeated as they are take no notice of the id.
func (r *requestIDs) check(k *call) error {
	if k.meta.requestID == "" || k.entry.Idempotent {
		return nil
	}
	id, use := maphash.String(seed, k.meta.requestID), maphash.String(seed, k.fingerprint())
	if was, known := r.use(id, use, k.started); known && was != use {
		return &api.Error{Code: api.Conflict, Message: api.MetaRequestID +
			": it was used for another call, or with other parameters, in the last 150 s; make a new one for each call"}
	}
	return nil
}

// use remembers an id unless it is known, and returns what it was used for.
func (r *requestIDs) use(id, use uint64, now time.Time) (was uint64, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.turned); r.fresh == nil || age > keepIDs || len(r.fresh) >= maxIDs {
		if r.stale = r.fresh; age > 2*keepIDs {
			r.stale = nil
		}
		r.fresh, r.turned = make(map[uint64]uint64), now
	}
	if was, known = r.fresh[id]; !known {
		if was, known = r.stale[id]; !known {
			r.fresh[id] = use
		}
	}
	return was, known
}
