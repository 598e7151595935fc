package coord

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// AnswerKey names what a local answer is about; kind is its noun. A limit given in full has no
// name and no revision; its terms tell it apart. They also tell apart two rule
// sets of one revision.
type AnswerKey struct {
	Kind, Name, Key, Terms string
	Revision               int64
}

// MaxCached bounds how long a refusal is answered locally, whatever its own end:
// what changes it elsewhere is seen by then even if its broadcast was lost.
const MaxCached = time.Second

// Answers are what all nouns answer locally, refusals and blocks of tokens: one bounded
// cache, which forgets what is broadcast.
type Answers struct {
	*Recent[AnswerKey, Ending]
	// asked has the ids of requests that were sent to Redis: one that was let
	// through and lost its reply has to be answered from there. It is a table of
	// hashes, where a later one takes the place of an earlier.
	asked [1 << 15]atomic.Uint64
	seed  maphash.Seed
}

// NewAnswers makes the cache. Without signals (nil) what happens in other
// sidecars is seen within a second.
func NewAnswers(s *Signals) *Answers {
	a := &Answers{Recent: NewRecent[AnswerKey, Ending](), seed: maphash.MakeSeed()}
	if s != nil {
		s.OnForget(func(_, key string) { a.Forget(key) }, a.clear)
	}
	return a
}

// Repeated reports whether a request with this id was sent before, and notes it.
func (a *Answers) Repeated(id string) bool {
	if id == "" {
		return false
	}
	h := maphash.String(a.seed, id)
	return a.asked[h%uint64(len(a.asked))].Swap(h) == h
}
