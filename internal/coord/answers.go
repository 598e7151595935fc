package coord

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// AnswerKey identifies what a local answer is about; Kind is its noun. A limit given in full has no
// name and no revision; its terms distinguish it from others. They also distinguish two rule
// sets with the same revision.
type AnswerKey struct {
	Kind, Name, Key, Terms string
	Revision               int64
}

// MaxCached bounds how long a refusal is answered locally, even if the refusal lasts longer. A change
// by another sidecar then takes effect within this time even if its broadcast was lost.
const MaxCached = time.Second

// Answers is the one bounded cache of what all nouns answer locally: refusals and blocks of tokens.
// It drops the entries that a broadcast is about.
type Answers struct {
	*Recent[AnswerKey, Ending]
	// asked has the ids of requests that were sent to Redis. A repeated request must be sent to Redis again, where
	// its stored reply is: it may have been admitted although the reply was lost. It is a table of hashes, in which a
	// later hash replaces an earlier one.
	asked [1 << 15]atomic.Uint64
	seed  maphash.Seed
}

// NewAnswers makes the cache. Without signals (nil), changes by other sidecars take effect
// within MaxCached.
func NewAnswers(s *Signals) *Answers {
	a := &Answers{Recent: NewRecent[AnswerKey, Ending](), seed: maphash.MakeSeed()}
	if s != nil {
		s.OnForget(func(_, key string) { a.Forget(key) }, a.clear)
	}
	return a
}

// Repeated reports whether a request with this id was sent before, and records the id.
func (a *Answers) Repeated(id string) bool {
	if id == "" {
		return false
	}
	h := maphash.String(a.seed, id)
	return a.asked[h%uint64(len(a.asked))].Swap(h) == h
}
