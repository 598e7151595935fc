package client_test

import (
	"testing"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// patience bounds what a test repeats until another goroutine or process has done
// something, on a machine that does ten other things too; it decides nothing.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { redistest.Main(m) }
