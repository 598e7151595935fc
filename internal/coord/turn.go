package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Turn is the place of a call among those of its connection that name the same.
type Turn = redis.Turn

// InTurn returns a context whose scripts take effect after the calls ahead.
func InTurn(ctx context.Context, t Turn) context.Context { return redis.WithTurn(ctx, t) }

// OutOfTurn is for a script beside those that make up what the call does: it neither
// waits for the calls ahead nor counts as this one's being sent or answered.
func OutOfTurn(ctx context.Context) context.Context { return redis.WithTurn(ctx, nil) }

// PassOn lets the calls behind go ahead of one that waits without a script of its own.
func PassOn(ctx context.Context) { redis.PassOn(ctx) }
