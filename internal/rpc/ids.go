package rpc

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// requestIDs are the request ids of the last minutes and the calls that they were used for.
// Redis keeps a request id beside the object that its call acts on, so it cannot find that
// the id was used for another object; a sidecar that receives both calls can. Only hashes
// are kept.
type requestIDs struct {
	mu sync.Mutex // guards what follows
	// fresh has the ids since turned, stale the ids of the generation before.
	fresh, stale map[uint64]uint64
	turned       time.Time
}

const (
	// keepIDs is how long an id is remembered at least, which is how long Redis keeps
	// a stored reply.
	keepIDs = 150 * time.Second
	// maxIDs bounds each of the two generations, which take 2 MB at most. When there
	// are more ids, they are forgotten earlier.
	maxIDs = 1 << 15
)

// seed is the random seed of all hashes here, so that no client can choose ids whose hashes collide.
var seed = maphash.MakeSeed()

// check refuses a call whose request id was used for another call. Idempotent methods
// ignore the id.
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

// use remembers an id and its use, unless the id is known already: then use returns what it was used for.
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
