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

// Way is a sidecar's own network path to Redis, a proxy that can be slow, be cut, or lose replies.
type Way struct {
	proxy *toxiproxy.Proxy
	addr  string
}

// NewWay starts a proxy to a server's host:port. It listens on a port below the range of outgoing connections, so that
// the port is free again after a cut.
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

// Addr returns the address at which the proxy listens, host:port.
func (w *Way) Addr() string { return w.addr }

// Stop ends the proxy and its connections.
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
		// These lose replies of commands that Redis has carried out: all replies until the fault ends, which closes the
		// connection; or all after so many bytes; or by a reset of the connection.
		toxic("replies lost", 3, time.Second, "timeout", func(int) string { return `"timeout":0` }),
		toxic("replies cut", 3, time.Second, "limit_data", func(dose int) string { return fmt.Sprintf(`"bytes":%d`, 200+20*dose) }),
		toxic("reset", 3, 500*time.Millisecond, "reset_peer", func(dose int) string { return fmt.Sprintf(`"timeout":%d`, dose/2) }),
		{
			Name: "cut off", Targets: len(ways), Longest: 2 * time.Second, Weight: 2,
			// A stopped proxy ends its connections and refuses new ones, so that commands are not sent.
			Begin: func(e Event) (func() error, error) {
				ways[e.Target].Stop()
				return ways[e.Target].proxy.Start, nil
			},
		},
	}
}
