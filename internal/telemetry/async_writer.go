package telemetry

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxKeptLog is how many bytes of lines are kept for a slow reader.
const maxKeptLog = 256 << 10

// AsyncWriter passes lines on to a writer that may block or fail, such as a pipe
// without a reader: its own Write does neither. Lines for which there is no room, and
// lines that the writer refuses, are dropped and counted. If the log were written
// directly to stderr, a blocked write would stop the whole process at the log's lock.
type AsyncWriter struct {
	to io.Writer
	// note writes a line about the number of lines that are missing here. It may be nil.
	note func(dropped int64) error
	// missing is the number of dropped lines that note has not reported yet; only run uses it.
	missing int64
	wake    chan struct{} // has one while there may be something to write
	done    chan struct{} // closed when run has ended

	mu      sync.Mutex // guards what follows; never held while to is written
	waiting []byte
	full    int64 // lines that were dropped since waiting was full
	closed  bool
	// dropped is the number of all dropped lines, until count is set and called with it.
	dropped int64
	count   func(int64)
}

// NewAsyncWriter writes to a writer in the background until Close.
func NewAsyncWriter(to io.Writer) *AsyncWriter { return newAsyncWriter(to, nil) }

func newAsyncWriter(to io.Writer, note func(int64) error) *AsyncWriter {
	w := &AsyncWriter{to: to, note: note, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one or more whole lines. It never fails.
func (w *AsyncWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// After the first line for which there is no room, all lines are dropped, also short
	// ones, so that all missing lines are missing at one place.
	if w.closed || w.full > 0 || len(w.waiting)+len(lines) > maxKeptLog {
		n := int64(bytes.Count(lines, []byte("\n")))
		w.full += n
		w.drop(n)
		return len(lines), nil
	}
	w.waiting = append(w.waiting, lines...)
	w.signal()
	return len(lines), nil
}

// signal wakes run. It needs w.mu.
func (w *AsyncWriter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// drop counts lines. It needs w.mu.
func (w *AsyncWriter) drop(n int64) {
	if w.count == nil {
		w.dropped += n
		return
	}
	w.count(n)
}

// CountDropped calls count with the number of dropped lines whenever lines are dropped,
// and at once for those that were dropped before. count must not block.
func (w *AsyncWriter) CountDropped(count func(n int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count = count
	if w.dropped > 0 {
		count(w.dropped)
		w.dropped = 0
	}
}

// run writes the waiting lines, until Close.
func (w *AsyncWriter) run() {
	defer close(w.done)
	var spare []byte
	for range w.wake {
		w.mu.Lock()
		lines, full, closed := w.waiting, w.full, w.closed
		w.waiting, w.full = spare[:0], 0
		w.mu.Unlock()
		for line := range bytes.Lines(lines) {
			w.pass(line)
		}
		w.missing += full
		w.tell()
		if closed {
			return
		}
		spare = lines
	}
}

// pass writes one line.
func (w *AsyncWriter) pass(line []byte) {
	if w.tell() {
		if _, err := w.to.Write(line); err == nil {
			return
		}
	}
	w.missing++
	w.mu.Lock()
	w.drop(1)
	w.mu.Unlock()
}

// tell writes the note about dropped lines, and reports whether no note is due any more.
func (w *AsyncWriter) tell() bool {
	if w.missing == 0 || w.note == nil {
		return true
	}
	if w.note(w.missing) != nil {
		return false
	}
	w.missing = 0
	return true
}

// Close writes the waiting lines, within a time. It does not wait for a writer that
// blocks for longer, since nothing can end a write to it. Later lines are dropped. Close
// may be called again, with more time.
func (w *AsyncWriter) Close(within time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
	}
}
