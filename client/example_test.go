package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// The examples run on a fake sidecar; a program connects by Dial.

func ExampleDial() {
	s := clienttest.NewSidecar()
	defer s.Close()

	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{
		Socket: s.Socket(), // in a pod it is that of COXSWAIN_SOCKET
		Client: "billing",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close() // which gives back all that it holds

	lk, err := c.LockAcquire(ctx, "nightly", client.LockOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := c.LockGet(ctx, lk.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held by", held.HeldBy.Client)
	// Output: held by billing
}

// Errors tell a refusal from a fault, and one fault from another.
func ExampleCall() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	_, err := client.Call(context.Background(), c, api.RatelimitAcquire, api.RatelimitParams{Rule: "no such rule", Key: "example.com"})
	var answer *api.Error
	switch {
	case errors.Is(err, api.NotFound):
		fmt.Println("a mistake of the program or of the configuration")
	case errors.As(err, &answer) && answer.Retryable:
		fmt.Println("try again later")
	}
	// Output: a mistake of the program or of the configuration
}

func ExampleWithRequestID() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	// The order has been paid for once, whichever pod repeats the call.
	ctx := client.WithRequestID(context.Background(), "order-17")
	for range 2 {
		r, err := c.QueueEnqueue(ctx, "payments", "order-17", client.EntryOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Enqueued, r.Replayed)
	}
	// Output:
	// true false
	// true true
}

// A program that gets ready for the end of its pod, and hears what the sidecar does.
func ExampleClient_EventsSubscribe() {
	s := clienttest.NewSidecar()
	defer s.Close()

	ctx := context.Background()
	heard := make(chan string, 1)
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), OnEvent: func(e client.Event) {
		if end, ok := e.Draining(); ok {
			log.Println("no new work: the pod ends at", end)
			return
		}
		heard <- fmt.Sprintf("%s: %s", e.Params["kind"], e.Params["name"])
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.EventsSubscribe(ctx, "breaker", "paused"); err != nil {
		fmt.Println(err)
		return
	}
	s.Emit(api.EventParams{Kind: "breaker", Name: "payments", Reason: "open"})
	fmt.Println(<-heard)
	// Output: breaker: payments
}

// A rule of 80 requests per 10 minutes, and never more than 5 at once.
func ExampleClient_RatelimitPutRule() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	_, err := c.RatelimitPutRule(context.Background(), api.Rule{
		Name: "crawl", Algorithm: api.AlgorithmTokenBucket,
		Limits: []api.Band{api.Per(80, 10*time.Minute).WithBurst(5)},
	})
	fmt.Println(err)
	// Output: <nil>
}
