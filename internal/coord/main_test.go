package coord_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) {
	// Removing a timeout toxic closes the link at once, so that the pipe before
	// it, if it has a chunk in hand just then, waits forever to pass it on.
	redistest.Main(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}
