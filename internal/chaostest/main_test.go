package chaostest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) {
	// Removing a toxic may close a link while the pipe before it, or the goroutine that reads the connection, is
	// passing on a chunk; that goroutine then waits forever.
	redistest.Main(m,
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/stream.(*ChanWriter).Write"),
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe"))
}
