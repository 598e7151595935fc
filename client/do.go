package client

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// do runs fn while it is held, and gives it back however fn ends.
func (h *held) do(ctx context.Context, fn func(context.Context) error) (err error) {
	return h.doBy(ctx, fn, func(ctx context.Context, _ error) error { return h.Release(ctx) })
}

// errPanicked is how fn ended that did not return.
var errPanicked = errors.New("it panicked")

// doBy is do with a release that is told how fn ended.
func (h *held) doBy(ctx context.Context, fn func(context.Context) error, release func(context.Context, error) error) (err error) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { end(context.Cause(h.ctx)) })
	ended := errPanicked
	defer func() { // when fn panics too
		stop()
		gone := release(ctx, ended)
		end(ErrReleased)
		switch {
		case errors.Is(gone, ErrLost):
			err = errors.Join(err, gone)
		case errors.Is(gone, api.InvalidArgument):
			// What was said of it is wrong, so that nothing was given back: it goes
			// back without a word.
			_ = h.giveBack(ctx, h.silence(), new(heldAnswer), new(heldAnswer))
			err = errors.Join(err, gone)
		case gone != nil:
			// What fn did was done while it was held; it is free when its TTL ends.
			h.c.o.Logger.Warn("what was held is given back by its TTL", h.kind.noun, h.name, "err", gone)
		}
	}()
	err = fn(ctx)
	ended = err
	return err
}

// silence is what is said of something that was not used.
func (h *held) silence() map[string]any {
	if h.kind.unused == "" {
		return nil
	}
	return map[string]any{"outcome": h.kind.unused}
}

// millis rounds up: a TTL that was asked for must not become the default.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
