// Command go is the first call from Go: a limit, then a lock.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	c, err := client.Dial(ctx, client.Options{}) // the socket is $COXSWAIN_SOCKET
	if err != nil {
		return err
	}
	defer c.Close()

	r, err := c.RatelimitAcquire(ctx, api.RatelimitParams{
		Key: "example.com", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{api.Per(3, 5*time.Second)},
	})
	if err != nil {
		return err
	}
	fmt.Printf("allowed %t, %d left, retry after %d ms\n", r.Allowed, r.Remaining, r.RetryAfterMS)

	lock, err := c.LockAcquire(ctx, "nightly", client.LockOptions{})
	if err != nil {
		return err // *client.BusyError when someone else holds it
	}
	fmt.Printf("locked, fence %d\n", lock.Fence()) // work on lock.Context(): it ends when the lock is lost
	return lock.Release(ctx)
}
