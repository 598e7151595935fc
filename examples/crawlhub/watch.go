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

// look is how often the states of breakers are asked for. A change that is taken
// back sooner is not seen.
const look = 50 * time.Millisecond

// watch prints the changes of the identities' breakers until the function that it
// returns is called, which says how many there were.
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
			// What does not answer now is asked again.
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
