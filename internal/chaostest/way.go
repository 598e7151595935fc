package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Way is a sidecar's own network path to Redis, a proxy that may be slow, cut or lossy.
type Way struct {
	proxy *toxiproxy.Proxy
	addr  string
}

// NewWay leads to a server's host:port. It begins at a port below the range that
// outgoing connections use, so that it finds it free again after a cut.
func NewWay(name, server string) (*Way, error) {
	const lowest, count, tries = 20000, 12000, 20
	s := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	var last error
	for range tries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(count)))
		p := toxiproxy.NewProxy(s, name, addr, server)
		if last = p.Start(); last == nil {
			return &Way{p, addr}, nil
		}
	}
	return nil, fmt.Errorf("proxy %s: no free port in %d tries: %w", name, tries, last)
}

// Addr returns the address at which it listens, host:port.
func (w *Way) Addr() string { return w.addr }

// Stop ends it and its connections.
func (w *Way) Stop() { w.proxy.Stop() }

// poison adds a toxic until the function that it returns is called. A stream is
// downstream, from Redis to the sidecar, or upstream.
func (w *Way) poison(n int, kind, stream, attributes string) (func() error, error) {
	name := fmt.Sprintf("%s-%s-%d", kind, stream, n)
	_, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(
		fmt.Sprintf(`{"type":%q,"name":%q,"stream":%q,"attributes":{%s}}`, kind, name, stream, attributes)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func() error { return w.proxy.Toxics.RemoveToxic(context.Background(), name) }, nil
}

// WayFaults returns the faults of these ways, for each sidecar separately.
func WayFaults(ways []*Way) []Fault {
	toxic := func(name string, weight int, longest time.Duration, kind string, attributes func(dose int) string) Fault {
		return Fault{
			Name: name, Targets: len(ways), Longest: longest, Weight: weight,
			Begin: func(e Event) (func() error, error) {
				return ways[e.Target].poison(e.N, kind, "downstream", attributes(e.Dose))
			},
		}
	}
	return []Fault{
		toxic("latency", 4, 2*time.Second, "latency", func(dose int) string {
			return fmt.Sprintf(`"latency":%d,"jitter":%d`, 1+dose, 1+dose/2)
		}),
		// What Redis has answered is lost, though it was done: at once, until the fault
		// ends and the connection with it, or after so many bytes, or with a reset.
		toxic("replies lost", 3, time.Second, "timeout", func(int) string { return `"timeout":0` }),
		toxic("replies cut", 3, time.Second, "limit_data", func(dose int) string { return fmt.Sprintf(`"bytes":%d`, 200+20*dose) }),
		toxic("reset", 3, 500*time.Millisecond, "reset_peer", func(dose int) string { return fmt.Sprintf(`"timeout":%d`, dose/2) }),
		{
			Name: "cut off", Targets: len(ways), Longest: 2 * time.Second, Weight: 2,
			// What is refused, and ended, and never sent: a stopped proxy listens no more.
			Begin: func(e Event) (func() error, error) {
				ways[e.Target].Stop()
				return ways[e.Target].proxy.Start, nil
			},
		},
	}
}
