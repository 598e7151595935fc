package lease_test

import (
	"testing"

	_ "github.com/coxswain-sidecar/coxswain/internal/coord/lock" // whose scripts the timelines run
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func TestTimelines(t *testing.T) {
	t.Parallel()
	luatest.Timelines(t, ".")
}
