package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// look is the time between two readings of the breakers' states. A change that is
// reversed sooner is not seen.
const look = 50 * time.Millisecond

// watch prints the changes of the identities' breakers until stop is called, which
// returns how many there were.
func (h *hub) watch(ctx context.Context, out io.Writer) (stop func() int) {
	ctx, cancel := context.WithCancel(ctx)
	changes := make(chan int, 1)
	go func() {
		c, err := client.Dial(ctx, client.Options{Socket: h.sockets[0], Client: name, Instance: "watch"})
		if err != nil {
			changes <- 0
			return
		}
		defer c.Close()
		n, began := 0, time.Now()
		states := make(map[string]string)
		for ctx.Err() == nil {
			// An error is ignored: the next reading follows soon.
			r, _ := client.Call(ctx, c, api.PoolList, api.PoolListParams{Pool: h.pool, Count: int64(h.identities)})
			for _, m := range r.Members {
				was, is := cmp.Or(states[m.ID], api.BreakerClosed), cmp.Or(m.Breaker, api.BreakerClosed)
				if states[m.ID] = is; is != was {
					n++
					fmt.Fprintf(out, "%6.2fs breaker of %s: %s -> %s\n", time.Since(began).Seconds(), m.ID, was, is)
				}
			}
			sleep(ctx, look)
		}
		changes <- n
	}()
	return func() int {
		cancel()
		return <-changes
	}
}
