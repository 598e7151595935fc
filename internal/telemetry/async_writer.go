package telemetry

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxKeptLog is how many bytes of lines are kept for a reader that is slow.
const maxKeptLog = 256 << 10

// AsyncWriter passes lines on to a writer that may block or fail, such as a pipe
// that nobody reads: its own Write does neither. Lines that find no room, and
// those that the writer refuses, are dropped and counted. A log written straight
// to stderr would stop the whole process behind the log's lock.
type AsyncWriter struct {
	to io.Writer
	// note writes that so many lines are missing at this place. It may be nil.
	note func(dropped int64) error
	// missing are the lines that note has not told of yet; run alone uses it.
	missing int64
	wake    chan struct{} // has one while there may be something to write
	done    chan struct{} // closed when run has ended

	mu      sync.Mutex // guards what follows; never held while to is written
	waiting []byte
	full    int64 // lines that were dropped since waiting was full
	closed  bool
	// dropped are all lines that were, until count is set and told of them.
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
	// After the first that found no room none is kept, however short, so that
	// all that are missing are missing at one place.
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

// CountDropped has count told of every line that is dropped, at once of those
// that were before. It must not block.
func (w *AsyncWriter) CountDropped(count func(n int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count = count
	if w.dropped > 0 {
		count(w.dropped)
		w.dropped = 0
	}
}

// run writes what waits, until Close.
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

// tell writes the note about dropped lines, and reports whether none is due any more.
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

// Close writes what waits, within a time: a writer that blocks for longer is left
// behind, since nothing can end a write to it. Later lines are dropped. It may be
// called again, with more time.
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
