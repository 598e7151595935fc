package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// Only one pod at a time runs the function. Its context ends when the lock is lost. The resource
// that the lock protects can refuse writes with a lower fence.
func ExampleClient_LockDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	err := c.LockDo(context.Background(), "nightly", client.LockOptions{Wait: 10 * time.Second}, func(ctx context.Context, lk *client.Lock) error {
		fmt.Println("fence", lk.Fence())
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// fence 1
	// <nil>
}

// Without a Wait, LockAcquire fails at once if the lock is held; the error names the holder.
func ExampleClient_LockAcquire() {
	s := clienttest.NewSidecar()
	defer s.Close()
	ctx, c := context.Background(), s.Client()
	other, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "reports", Instance: "pod-7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Close()

	lk, err := other.LockAcquire(ctx, "nightly", client.LockOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var busy *client.BusyError
	if _, err := c.LockAcquire(ctx, "nightly", client.LockOptions{}); errors.As(err, &busy) {
		fmt.Println("held by", busy.HeldBy.Client, busy.HeldBy.Instance)
	}
	fmt.Println(lk.Release(ctx))
	// Output:
	// held by reports pod-7
	// <nil>
}

// At most 3 exports run at a time, over all pods.
func ExampleClient_SemaphoreDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c, ctx := s.Client(), context.Background()

	o := client.SemaphoreOptions{Limit: 3, Wait: 10 * time.Second}
	err := c.SemaphoreDo(ctx, "exports", o, func(ctx context.Context, _ *client.Semaphore) error {
		r, err := c.SemaphoreGet(ctx, "exports")
		fmt.Println(r.Held, "held")
		return err
	})
	fmt.Println(err)
	// Output:
	// 1 held
	// <nil>
}

// A page is fetched once, however many pods try it.
func ExampleClient_SeenDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	for range 2 {
		done, err := c.SeenDo(context.Background(), "urls", "https://example.com/", client.SeenOptions{Keep: 24 * time.Hour},
			func(context.Context, *client.Reservation) error {
				fmt.Println("fetch")
				return nil
			})
		fmt.Println(done, err)
	}
	// Output:
	// fetch
	// true <nil>
	// false <nil>
}

// Each account is used by one worker at a time, and those that were not used for the longest
// time come first.
func ExampleClient_PoolDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c, ctx := s.Client(), context.Background()

	_, err := c.PoolPut(ctx, api.PoolPutParams{Pool: "accounts", Members: []api.PoolMember{{ID: "alice", Meta: "secret"}, {ID: "bob"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		err := c.PoolDo(ctx, "accounts", client.PoolOptions{}, func(_ context.Context, m *client.Member) error {
			fmt.Println(m.ID())
			return nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// alice
	// bob
	// alice
}

// PermitDo acquires a proxy that is free, whose own limit admits a request and whose breaker is
// closed. OutcomeOf derives the proxy's outcome from the error of the function.
func ExampleClient_PermitDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.PutRule(api.Rule{Name: "per-proxy", Limits: []api.Band{api.Per(80, 10*time.Minute)}})
	c, ctx := s.Client(), context.Background()

	_, err := c.PoolPut(ctx, api.PoolPutParams{Pool: "proxies", Members: []api.PoolMember{{ID: "p1"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	errBlocked := errors.New("blocked")
	o := client.PermitOptions{Rule: "per-proxy", Breaker: "default"}
	o.OutcomeOf = func(err error) client.Outcome {
		if errors.Is(err, errBlocked) {
			return client.Outcome{Kind: api.OutcomeSoftBlock, Status: 429}
		}
		return client.Outcome{}
	}
	err = c.PermitDo(ctx, "proxies", o, func(_ context.Context, p *client.Permit) error {
		fmt.Println(p.ID(), p.Remaining())
		return errBlocked
	})
	fmt.Println(err)
	var busy *client.BusyError
	if _, err := c.PermitAcquire(ctx, "proxies", o); errors.As(err, &busy) {
		fmt.Println("no proxy:", busy.Reason)
	}
	// Output:
	// p1 79
	// blocked
	// no proxy: cooling
}

// After 3 failures in a row the breaker opens, and no pod calls the service for a while.
func ExampleClient_BreakerDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	charge := func(context.Context) error { return errors.New("connection refused") }
	for range 4 {
		err := c.BreakerDo(context.Background(), "payments", client.BreakerOptions{}, charge)
		var open *client.OpenError
		if errors.As(err, &open) {
			fmt.Println("not called: it is", open.State)
			continue
		}
		fmt.Println(err)
	}
	// Output:
	// connection refused
	// connection refused
	// connection refused
	// not called: it is open
}
