package fleet_test

import (
	"testing"

	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

func TestTimelines(t *testing.T) {
	t.Parallel()
	luatest.Timelines(t, ".")
}
