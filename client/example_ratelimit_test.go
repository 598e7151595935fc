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

// crawl is a rule of 2 requests a minute.
var crawl = api.Rule{Name: "crawl", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{api.Per(2, time.Minute)}}

func ExampleClient_Allow() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.PutRule(crawl)
	c := s.Client()

	for range 3 {
		allowed, err := c.Allow(context.Background(), "crawl", "example.com")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(allowed)
	}
	// Output:
	// true
	// true
	// false
}

// Wait returns when the rule admits the key, or at once with ErrLimited if the context ends before that.
func ExampleClient_Wait() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.PutRule(crawl)
	c := s.Client()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range 3 {
		switch err := c.Wait(ctx, "crawl", "example.com"); {
		case errors.Is(err, client.ErrLimited):
			fmt.Println("not within 10 s")
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println("fetch")
		}
	}
	// Output:
	// fetch
	// fetch
	// not within 10 s
}

// RatelimitAcquire is the full call: a limit given inline instead of a rule, a cost, and all fields
// of the result.
func ExampleClient_RatelimitAcquire() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.Freeze(time.Time{}) // so that the output is the same in every run
	c := s.Client()

	r, err := c.RatelimitAcquire(context.Background(), api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{api.Per(80, 10*time.Minute)},
		Key: "example.com", Cost: 81, WaitMS: api.Millis(5 * time.Second),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, ever := r.RetryAfter(); !r.Allowed && !ever {
		fmt.Printf("81 never fit in %s\n", r.Band)
	}
	r, err = c.RatelimitAcquire(context.Background(), api.RatelimitParams{
		Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{api.Per(80, 10*time.Minute)}, Key: "example.com", Cost: 20,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Allowed, r.Remaining, "left")
	// Output:
	// 81 never fit in 80/10m
	// true 60 left
}

// One pod reports a 429 with its Retry-After, which pauses the key for all pods.
func ExampleClient_RatelimitReport() {
	s := clienttest.NewSidecar()
	defer s.Close()
	s.PutRule(crawl)
	s.Freeze(time.Time{})
	c, ctx := s.Client(), context.Background()

	_, err := c.RatelimitReport(ctx, api.RatelimitReportParams{
		Rule: "crawl", Key: "example.com", Status: 429, RetryAfterMS: api.Millis(30 * time.Second),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := c.RatelimitPeek(ctx, api.RatelimitParams{Rule: "crawl", Key: "example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	after, _ := r.RetryAfter()
	fmt.Println(r.Allowed, r.DeniedBy, after)
	// Output: false pause 30s
}
