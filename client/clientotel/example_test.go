package clientotel_test

import (
	"context"
	"fmt"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/clientotel"
	"github.com/coxswain-sidecar/coxswain/client/clienttest"
)

// A program passes its tracer provider, or nil for the global one.
func ExampleNew() {
	s := clienttest.NewSidecar()
	defer s.Close()

	provider := &tracing{} // in a program: sdktrace.NewTracerProvider(...)
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Tracer: clientotel.New(provider)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.Ping(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(provider.ended()[0].name)
	// Output: coxswain.session.ping
}
