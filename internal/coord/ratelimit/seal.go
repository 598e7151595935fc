package ratelimit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// seals proves that a sidecar of the fleet wrote a grant: its holder could otherwise raise the
// cost before it gives the grant back. Buckets and windows keep no grants to compare with.
//
// A grant is sealed with a secret text in Redis, which every sidecar reads before its first
// grant. If Redis loses its data, the first sidecar that looks again writes its text back.
type seals struct {
	runner *lua.Runner
	key    string // the Redis key of the secret
	clock  coord.Clock
	known  atomic.Pointer[sealTexts]
}

// sealTexts are the secrets that valid grants were sealed with.
type sealTexts struct {
	now, before *secret // before: the one that Redis had before it lost its data; nil = none
	seen        time.Time
}

// secret is a text that grants are sealed with.
type secret struct {
	text string
	macs sync.Pool // of *mac, since making one takes longer than using it
}

type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

func newSecret(text string) *secret {
	k := &secret{text: text}
	k.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, []byte(text))} }
	return k
}

// appendSeal appends the seal of body to b. body may be in the same array behind b, since it is
// read before the seal is written.
func (k *secret) appendSeal(b, body []byte) []byte {
	m, _ := k.macs.Get().(*mac)
	m.Reset()
	m.Write(body) // never fails
	b = base64.RawURLEncoding.AppendEncode(b, m.Sum(m.sum[:0])[:16])
	k.macs.Put(m)
	return b
}

// sealFor is how long a text is used before it is read again.
const sealFor = time.Minute

func newSeals(r *lua.Runner, k coord.Keys, clock coord.Clock) *seals {
	return &seals{runner: r, key: keys{k}.seal(), clock: clock}
}

// ready makes sure that there is a text to seal with, and returns an error if there is none.
// Once there was one, it does not fail any more, whether Redis replies or not. With patient,
// the first read is retried until ctx ends.
func (s *seals) ready(ctx context.Context, patient bool) error {
	k := s.known.Load()
	if k != nil {
		if s.clock.Now().Sub(k.seen) < sealFor {
			return nil
		}
		// Only this call reads the text again; calls that come meanwhile use the old one.
		if !s.known.CompareAndSwap(k, &sealTexts{k.now, k.before, s.clock.Now()}) {
			return nil
		}
	}
	if err := s.look(ctx, patient && k == nil); err != nil && k == nil {
		return err
	}
	return nil
}

// fresh reports whether there is a text that ready would use without reading it again.
func (s *seals) fresh() bool {
	k := s.known.Load()
	return k != nil && s.clock.Now().Sub(k.seen) < sealFor
}

// look reads the text that Redis has now.
func (s *seals) look(ctx context.Context, patient bool) error {
	offered := rand.Text()
	if k := s.known.Load(); k != nil {
		offered = k.now.text
	}
	run := lua.Attempt[SealIn, string]
	if patient {
		run = lua.Run[SealIn, string]
	}
	out, err := run(coord.OutOfTurn(ctx), s.runner, SealScript, SealIn{Seal: s.key, Offered: offered}, lua.StoredReply{})
	if err != nil {
		return err
	}
	for {
		k := s.known.Load()
		found := &sealTexts{seen: s.clock.Now()}
		switch {
		case k != nil && k.now.text == out.Value:
			found.now, found.before = k.now, k.before
		case k != nil:
			found.now, found.before = newSecret(out.Value), k.now
		default:
			found.now = newSecret(out.Value)
		}
		if s.known.CompareAndSwap(k, found) {
			return nil
		}
	}
}

// appendSeal appends the seal of a body to b, or nothing before there is a secret.
func (s *seals) appendSeal(b, body []byte) []byte {
	if k := s.known.Load(); k != nil {
		return k.now.appendSeal(b, body)
	}
	return b
}

// made reports whether a sidecar of the fleet made that seal of the body.
func (s *seals) made(ctx context.Context, body []byte, seal string) (bool, error) {
	if seal == "" {
		return false, nil
	}
	if err := s.ready(ctx, true); err != nil {
		return false, err
	}
	if s.fits(body, seal) {
		return true, nil
	}
	if err := s.look(ctx, true); err != nil { // the seal may be of a text that this sidecar has not read
		return false, err
	}
	return s.fits(body, seal), nil
}

func (s *seals) fits(body []byte, seal string) bool {
	k := s.known.Load()
	return k.now.fits(body, seal) || k.before != nil && k.before.fits(body, seal)
}

func (k *secret) fits(body []byte, seal string) bool {
	return hmac.Equal([]byte(seal), k.appendSeal(nil, body))
}
