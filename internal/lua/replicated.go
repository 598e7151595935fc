package lua

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// RunReplicated is Run, and then waits on the same connection until so many
// replicas have what the script wrote, for at most wait and no longer than ctx.
// Acked is how many have; it is 0 as well when that could not be learned, and on
// the embedded store, which has no replicas, and where none are asked for.
//
// The error is that of the script: too few replicas are none.
func RunReplicated[I, O any](
	ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply, replicas int, wait time.Duration,
) (out Outcome[O], acked int, err error) {
	c := call{Try: redis.Try{Replicas: replicas, Wait: wait}, patient: true}
	out, err = execute(ctx, r, s, in, stored, &c)
	return out, c.Acked, err
}
