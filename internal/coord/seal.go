package coord

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// seals prove that a grant says what some sidecar of the fleet wrote: its holder
// could otherwise raise the cost before it gives the grant back. Buckets and
// windows keep no grants, so that nothing in them could tell.
//
// What seals is a secret text in Redis, which every sidecar reads before its
// first grant. A Redis that lost everything gets back the text of the first
// sidecar that looks again.
type seals struct {
	runner *lua.Runner
	key    string // Redis's
	clock  Clock
	known  atomic.Pointer[sealTexts]
}

// sealTexts are those of which grants are around.
type sealTexts struct {
	now, before string // before: of a Redis that lost it; empty = none
	seen        time.Time
}

// sealFor is how long a text is used without another look.
const sealFor = time.Minute

func newSeals(r *lua.Runner, k Keys, clock Clock) *seals {
	return &seals{runner: r, key: k.seal(), clock: clock}
}

// ready has a text to seal with, or says why there is none. Once there is one,
// that does not depend on Redis any more. patient waits out an outage until ctx
// ends.
func (s *seals) ready(ctx context.Context, patient bool) error {
	k := s.known.Load()
	if k != nil {
		if s.clock.Now().Sub(k.seen) < sealFor {
			return nil
		}
		// Who comes meanwhile uses the old one.
		if !s.known.CompareAndSwap(k, &sealTexts{k.now, k.before, s.clock.Now()}) {
			return nil
		}
	}
	if err := s.look(ctx, patient && k == nil); err != nil && k == nil {
		return err
	}
	return nil
}

// look reads the text that is kept now.
func (s *seals) look(ctx context.Context, patient bool) error {
	offered := rand.Text()
	if k := s.known.Load(); k != nil {
		offered = k.now
	}
	run := lua.Attempt[lua.RatelimitSealIn, string]
	if patient {
		run = lua.Run[lua.RatelimitSealIn, string]
	}
	out, err := run(outOfTurn(ctx), s.runner, lua.RatelimitSeal, lua.RatelimitSealIn{Seal: s.key, Offered: offered}, lua.Latch{})
	if err != nil {
		return err
	}
	for {
		k := s.known.Load()
		found := &sealTexts{now: out.Value, seen: s.clock.Now()}
		switch {
		case k != nil && k.now == found.now:
			found.before = k.before
		case k != nil:
			found.before = k.now
		}
		if s.known.CompareAndSwap(k, found) {
			return nil
		}
	}
}

// of seals a text; it is empty before there is anything to seal with.
func (s *seals) of(text string) string {
	if k := s.known.Load(); k != nil {
		return sealed(k.now, text)
	}
	return ""
}

// made reports whether a sidecar sealed that text so.
func (s *seals) made(ctx context.Context, text, seal string) (bool, error) {
	if seal == "" {
		return false, nil
	}
	if err := s.ready(ctx, true); err != nil {
		return false, err
	}
	if s.fits(text, seal) {
		return true, nil
	}
	if err := s.look(ctx, true); err != nil { // it may be of a text that this sidecar has not seen so far
		return false, err
	}
	return s.fits(text, seal), nil
}

func (s *seals) fits(text, seal string) bool {
	k := s.known.Load()
	return hmac.Equal([]byte(seal), []byte(sealed(k.now, text))) ||
		k.before != "" && hmac.Equal([]byte(seal), []byte(sealed(k.before, text)))
}

func sealed(secret, text string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(text)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}
