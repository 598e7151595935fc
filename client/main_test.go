package client_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds how long a test waits for another goroutine on a busy machine. No
// assertion depends on it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
