package client

import (
	"context"
	"errors"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// do runs fn and then releases the lease, however fn ends.
func (h *held) do(ctx context.Context, fn func(context.Context) error) (err error) {
	return h.doBy(ctx, fn, func(ctx context.Context, _ error) error { return h.Release(ctx) })
}

// errPanicked stands for the error of a function that panicked.
var errPanicked = errors.New("it panicked")

// doBy is do with its own release, which is given the error of fn.
func (h *held) doBy(ctx context.Context, fn func(context.Context) error, release func(context.Context, error) error) (err error) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.Context(), func() { end(context.Cause(h.Context())) })
	ended := errPanicked
	defer func() { // also runs when fn panics
		stop()
		gone := release(ctx, ended)
		end(ErrReleased)
		switch {
		case errors.Is(gone, ErrLost):
			err = errors.Join(err, gone)
		case errors.Is(gone, api.InvalidArgument):
			// The outcome was not accepted, so nothing was released: release without it.
			_ = h.endBy(ctx, h.kind.release, h.silence())
			err = errors.Join(err, gone)
		case gone != nil:
			// The work of fn was done under the lease, which ends with its TTL.
			h.c.o.Logger.Warn("the release failed; the lease ends with its TTL", h.kind.noun, h.name, "err", gone)
		}
	}()
	err = fn(ctx)
	ended = err
	return err
}

// silence is the release parameters of a lease that was not used.
func (h *held) silence() map[string]any {
	if h.kind.unused == "" {
		return nil
	}
	return map[string]any{"outcome": h.kind.unused}
}
