package redis

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a Redis in this process, for development. It opens no port: its
// connections are socket pairs. net.Pipe cannot be used, since it has no buffer and a
// pipeline is written whole before its replies are read.
type embedded struct {
	redis *miniredis.Miniredis

	stop    chan struct{} // ends the ticking
	ticking sync.WaitGroup

	mu     sync.Mutex // guards closed, and keeps serving and closing apart
	closed bool
}

// tick is how often keys are expired. Each tick visits every key; miniredis could do so
// at each command, but that is slow with some thousands of keys. A TTL may end a little
// late, since scripts compare times and do not depend on whether a key has expired.
const tick = 100 * time.Millisecond

// startEmbedded starts an embedded store. If frozen, no key expires: scripts then have a
// clock of their own, and keys must not expire by the real one.
func startEmbedded(frozen bool) (*embedded, error) {
	m := miniredis.NewMiniRedis()
	// miniredis starts its server with the first in-memory connection.
	first, err := m.Dial()
	if err != nil {
		return nil, fmt.Errorf("start the embedded store: %w", err)
	}
	_ = first.Close()
	e := &embedded{redis: m, stop: make(chan struct{})}
	if !frozen {
		e.ticking.Go(e.expire)
	}
	return e, nil
}

// expire advances the TTLs by the time that has passed.
func (e *embedded) expire() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case now := <-ticker.C:
			e.redis.FastForward(now.Sub(last))
			last = now
		case <-e.stop:
			return
		}
	}
}

func (e *embedded) dial(context.Context) (net.Conn, error) {
	// A process that is forked at this moment must not inherit the descriptors.
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("socket pair: %w", err)
	}
	theirs, err := fileConn(fds[1])
	if err != nil {
		_ = syscall.Close(fds[0])
		return nil, err
	}
	ours, err := fileConn(fds[0])
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	// The pool may still dial for a moment after it was closed.
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		_ = theirs.Close()
		_ = ours.Close()
		return nil, errClosed
	}
	e.redis.Server().ServeConn(theirs)
	return ours, nil
}

// fileConn makes a connection of a descriptor and closes the descriptor.
func fileConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "embedded")
	defer func() { _ = f.Close() }() // FileConn duplicates it
	return net.FileConn(f)
}

func (e *embedded) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	close(e.stop)
	e.ticking.Wait()
	e.redis.Close()
}
