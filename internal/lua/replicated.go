package lua

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// RunReplicated is Run, and then waits on the same connection until that many
// replicas have acknowledged what the script wrote, for at most wait and no longer
// than ctx. acked is how many have; it is also 0 if WAIT failed, on the embedded
// store, which has no replicas, and if replicas is 0.
//
// The error is that of the script: too few replicas are not an error.
func RunReplicated[I, O any](
	ctx context.Context, r *Runner, s Script[I, O], in I, stored StoredReply, replicas int, wait time.Duration,
) (out Outcome[O], acked int, err error) {
	c := call{Try: redis.Try{Replicas: replicas, Wait: wait}, patient: true}
	out, err = execute(ctx, r, s, in, stored, &c)
	return out, c.Acked, err
}
