package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// patience ends a test that would hang otherwise. No step is expected to take as long.
const patience = time.Minute

// stalled is a reader that takes nothing until it is opened.
type stalled struct {
	lines
	open    chan struct{}
	entered chan struct{} // gets an item when a write has begun
}

func newStalled() *stalled {
	return &stalled{open: make(chan struct{}), entered: make(chan struct{}, 1)}
}

func (s *stalled) Write(p []byte) (int, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.open
	return s.lines.Write(p)
}

// broken refuses every line until it is mended.
type broken struct {
	lines
	mended atomic.Bool
}

func (b *broken) Write(p []byte) (int, error) {
	if !b.mended.Load() {
		return 0, errors.New("broken pipe")
	}
	return b.lines.Write(p)
}

// fill logs more lines than are kept for a reader that takes none, and returns their number.
func fill(log *telemetry.Log) (written int) {
	line := strings.Repeat("x", 1000)
	for written = range 2 * telemetry.KeptLog / len(line) {
		log.Info(line)
	}
	return written + 1
}

func TestALogThatIsNotReadBlocksNoCall(t *testing.T) {
	t.Parallel()
	to := newStalled()
	log, err := telemetry.NewLog(to, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	var counted atomic.Int64
	log.CountDropped(func(n int64) { counted.Add(n) })

	log.Info("first")
	<-to.entered
	written := fill(log) // does not return if it blocks
	require.Positive(t, counted.Load())
	require.Less(t, counted.Load(), int64(written))

	close(to.open)
	log.Close(patience)
	told := fmt.Sprintf(`"msg":"lines of the log were dropped: nothing took them in time","lines":%d}`, counted.Load())
	require.Contains(t, to.String(), told)
	require.Equal(t, written-int(counted.Load()), strings.Count(to.String(), "xxx\"}"), "what was kept is written")
	require.True(t, strings.HasSuffix(strings.TrimSpace(to.String()), told), "in the place of what is missing")
}

func TestALogContinuesOnceItsOutputWorksAgain(t *testing.T) {
	t.Parallel()
	to := new(broken)
	log, err := telemetry.NewLog(to, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	dropped := make(chan int64, 10)
	log.CountDropped(func(n int64) { dropped <- n })
	for range 3 {
		log.Info("lost")
	}
	for n := int64(0); n < 3; {
		n += <-dropped
	}
	to.mended.Store(true)
	log.Info("kept")
	log.Close(patience)
	require.NotContains(t, to.String(), `"msg":"lost"`)
	require.Regexp(t, `(?s)"lines":3}\n.*"msg":"kept"`, to.String())
}

// The counter may be set late, since the metrics are made when there is a log already.
func TestLinesThatWereDroppedBeforeTheyAreCountedAreCounted(t *testing.T) {
	t.Parallel()
	to := newStalled()
	log, err := telemetry.NewLog(to, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	fill(log)
	var counted atomic.Int64
	log.CountDropped(func(n int64) { counted.Add(n) })
	require.Positive(t, counted.Load())
	close(to.open)
	log.Close(patience)
}

func TestClosingALogThatIsNotReadEndsInTime(t *testing.T) {
	t.Parallel()
	to := newStalled()
	log, err := telemetry.NewLog(to, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	log.Info("first")
	<-to.entered
	log.Close(time.Millisecond)
	log.Info("after the end") // it is dropped, without a panic
	close(to.open)
	log.Close(patience)
	require.NotContains(t, to.String(), "after the end")
	require.Regexp(t, `(?s)"msg":"first"}\n[^\n]*"lines":1}\n$`, to.String())
}

func TestLinesOfConcurrentWritersStayWhole(t *testing.T) {
	t.Parallel()
	to := new(lines)
	log, err := telemetry.NewLog(to, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				log.Info("abc")
			}
		})
	}
	wg.Wait()
	log.Close(patience)
	all := bytes.TrimSpace([]byte(to.String()))
	require.Equal(t, 8*50, bytes.Count(all, []byte("\n"))+1)
	for line := range bytes.Lines(all) {
		require.True(t, bytes.HasPrefix(line, []byte(`{"time":"`)), "%s", line)
		require.True(t, bytes.HasSuffix(bytes.TrimSpace(line), []byte(`"msg":"abc"}`)), "%s", line)
	}
}
