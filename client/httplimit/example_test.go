package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

// A crawler waits up to ten seconds for its slot at a host. When a host answers 429,
// all pods stop sending requests to it until the time in its Retry-After.
func ExampleNewTransport() {
	c, err := client.Dial(context.Background(), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	hc := &http.Client{Transport: httplimit.NewTransport(c, httplimit.TransportOptions{Rule: "crawl", Wait: 10 * time.Second})}
	resp, err := hc.Get("https://example.com/")
	var refused *client.LimitError
	if errors.As(err, &refused) {
		if after, ok := refused.RetryAfter(); ok {
			fmt.Printf("%s again in %v\n", refused.Key, after)
		}
		return
	}
	if err != nil {
		log.Print(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
}

// A server behind a trusted proxy limits each of its callers, and serves requests
// without limits while its sidecar is unreachable.
func ExampleHandler() {
	c, err := client.Dial(context.Background(), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	limit := httplimit.Handler(c, httplimit.HandlerOptions{
		Rule:     "api",
		Key:      httplimit.Callers{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}.Key,
		FailOpen: true,
		OnError:  func(_ *http.Request, err error) { log.Print(err) },
	})
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, ok := httplimit.FromContext(r.Context()); ok {
			fmt.Fprintf(w, "%d requests left\n", d.Remaining)
		}
	})
	server := &http.Server{Addr: ":8080", Handler: limit(hello), ReadHeaderTimeout: 5 * time.Second}
	log.Print(server.ListenAndServe())
}
