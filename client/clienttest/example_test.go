package clienttest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// fetcher is the code under test: it fetches a page if the rule crawl admits its host.
type fetcher struct{ c *client.Client }

func (f *fetcher) fetch(ctx context.Context, host string) string {
	r, err := f.c.RatelimitAcquire(ctx, api.RatelimitParams{Rule: "crawl", Key: host})
	if err != nil {
		return "cannot ask: " + err.Error()
	}
	if after, _ := r.RetryAfter(); !r.Allowed {
		return fmt.Sprintf("later: in %v", after)
	}
	return "fetched"
}

// A test advances the clock instead of waiting.
func Example() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.Freeze(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	s.PutRule(api.Rule{Name: "crawl", Limits: []api.Band{api.Per(1, time.Minute)}})

	f := &fetcher{s.Client()}
	ctx := context.Background()
	fmt.Println(f.fetch(ctx, "example.com"))
	fmt.Println(f.fetch(ctx, "example.com"))
	s.Advance(time.Minute)
	fmt.Println(f.fetch(ctx, "example.com"))
	// Output:
	// fetched
	// later: in 1m0s
	// fetched
}

// On replaces the sidecar's answers to a method, and SetError makes all calls fail.
func ExampleOn() {
	s := clienttest.NewSidecar()
	defer s.Close()
	clienttest.On(s, api.RatelimitAcquire, func(p api.RatelimitParams) (api.RatelimitResult, error) {
		if p.Key == "slow.example.com" {
			return api.RatelimitResult{DeniedBy: "pause", RetryAfterMS: api.Millis(time.Hour)}, nil
		}
		return api.RatelimitResult{}, &api.Error{Code: api.Unavailable, Message: "Redis does not answer"}
	})

	f := &fetcher{s.Client()}
	fmt.Println(f.fetch(context.Background(), "slow.example.com"))
	fmt.Println(f.fetch(context.Background(), "example.com"))
	// Output:
	// later: in 1h0m0s
	// cannot ask: UNAVAILABLE: Redis does not answer
}

// Lose ends a lock while the program holds it.
func ExampleSidecar_Lose() {
	s := clienttest.NewSidecar()
	defer s.Close()

	err := s.Client().LockDo(context.Background(), "nightly", client.LockOptions{}, func(ctx context.Context, _ *client.Lock) error {
		s.Lose("lock", "nightly", "unreachable")
		<-ctx.Done() // the work stops here
		return context.Cause(ctx)
	})
	fmt.Println(err)
	// Output:
	// lost: unreachable
	// lock nightly: release: lost: unreachable
}
