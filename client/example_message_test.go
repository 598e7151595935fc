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

// QueueDo acknowledges an entry when the function returns nil; after an error it puts the entry
// back at the head of the queue.
func ExampleClient_QueueDo() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c, ctx := s.Client(), context.Background()

	if _, err := c.QueueEnqueue(ctx, "mails", "mail-1", client.EntryOptions{Body: []byte("hello"), TTL: time.Hour}); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		err := c.QueueDo(ctx, "mails", client.QueueOptions{}, func(_ context.Context, e *client.Entry) error {
			fmt.Printf("attempt %d: %s\n", e.Attempt(), e.Body())
			if e.Attempt() == 1 {
				return errors.New("the server is busy")
			}
			return nil
		})
		if errors.Is(err, client.ErrBusy) {
			fmt.Println("no entry")
		}
	}
	// Output:
	// attempt 1: hello
	// attempt 2: hello
	// no entry
}

// Each message goes to one consumer of the group, and is delivered again until it is acknowledged
// or dead.
func ExampleClient_StreamSubscribe() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	for _, body := range []string{"order 1", "order 2", "not an order"} {
		if _, err := c.StreamPublish(context.Background(), api.StreamPublishParams{Stream: "orders", Body: []byte(body)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := c.StreamSubscribe(ctx, "orders", "billing", client.StreamOptions{}, func(_ context.Context, m api.StreamMessage) error {
		fmt.Printf("%s\n", m.Body)
		if string(m.Body) == "not an order" {
			stop() // a real program consumes until its pod ends
			return &client.NackError{Err: errors.New("unknown"), Dead: true}
		}
		return nil
	})
	fmt.Println(errors.Is(err, context.Canceled))
	dead, err := c.StreamDead(context.Background(), api.StreamDeadParams{Stream: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("dead letter:", dead.Letters[0].Reason)
	// Output:
	// order 1
	// order 2
	// not an order
	// true
	// dead letter: unknown
}

// Pub/Sub is for messages that may be missed: only present subscribers receive them.
func ExampleClient_PubsubSubscribe() {
	s := clienttest.NewSidecar()
	defer s.Close()
	c := s.Client()

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	o := client.PubsubOptions{Patterns: []string{"config.*"}, OnSubscribed: func() {
		if _, err := c.PubsubPublish(ctx, "config.prices", []byte("changed")); err != nil {
			fmt.Println(err)
			return
		}
	}}
	err := c.PubsubSubscribe(ctx, o, func(_ context.Context, m api.PubsubMessage) error {
		fmt.Printf("%s %s\n", m.Channel, m.Body)
		stop()
		return nil
	})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// config.prices changed
	// true
}
