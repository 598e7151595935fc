// Command httpserver is a web server that limits each of its callers: try
//
//	sidecar serve --redis embedded --socket /tmp/s.sock --config examples/httpserver/sidecar.yaml
//	go run ./examples/httpserver -socket /tmp/s.sock
//	curl -i -H 'X-User-Id: alice' http://127.0.0.1:8080/
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/httplimit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// Run serves until ctx ends. It writes the address to out once it listens.
func Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("httpserver", flag.ContinueOnError)
	socket := flags.String("socket", "", "path of the sidecar's `socket`; empty = $COXSWAIN_SOCKET, or the default")
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on")
	rule := flags.String("rule", "api", "`name` of the rule that limits each caller")
	proxies := flags.String("trust", "", "`prefixes` of proxies whose X-Forwarded-For is believed, separated by commas")
	timeout := flags.Duration("timeout", httplimit.DefaultTimeout, "`duration` that the sidecar has to answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	trusted, err := prefixes(*proxies)
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, client.Options{Socket: *socket})
	if err != nil {
		return err
	}
	defer c.Close()

	limit := httplimit.Handler(c, httplimit.HandlerOptions{
		Rule:    *rule,
		Key:     httplimit.Callers{TrustedProxies: trusted}.Key,
		Timeout: *timeout,
		OnError: func(_ *http.Request, err error) { log.Print(err) },
	})
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", l.Addr())
	s := &http.Server{Handler: limit(http.HandlerFunc(hello)), ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		drained <- s.Shutdown(late)
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-drained // before the client is closed: requests still use it
}

func hello(w http.ResponseWriter, r *http.Request) {
	if d, ok := httplimit.FromContext(r.Context()); ok {
		fmt.Fprintf(w, "hello %s, %d left\n", d.Key, d.Remaining)
	}
}

func prefixes(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("-trust: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}
