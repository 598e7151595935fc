package coord

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// Turn is the position of a call among the calls of its connection that act on the same name.
type Turn = redis.Turn

// InTurn returns a context whose scripts take effect after those of the calls ahead.
func InTurn(ctx context.Context, t Turn) context.Context { return redis.WithTurn(ctx, t) }

// OutOfTurn returns a context for a script that is not part of the call's own work: it neither
// waits for the calls ahead nor counts as the call's script for the calls behind.
func OutOfTurn(ctx context.Context) context.Context { return redis.WithTurn(ctx, nil) }

// PassOn lets the calls behind overtake a call that waits without running a script.
func PassOn(ctx context.Context) { redis.PassOn(ctx) }
