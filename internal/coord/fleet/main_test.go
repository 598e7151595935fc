package fleet_test

import (
	"testing"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }
