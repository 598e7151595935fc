package client

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// One goroutine at a time reads a connection. With many calls in flight it is the
// background reader, which wakes the callers. A lone caller reads its own reply, because to
// be woken by another goroutine takes about as long as the call itself. It can do so while the
// background reader has stepped aside, which it does as long as lone calls follow each other
// closely. Meanwhile the background reader only looks every glance. If no call came since, it
// reads again, so that events are received. If a caller has been reading for long, it takes over
// from the caller, so that the caller can watch its context. It does not step aside while the
// connection holds a lease or has a subscription, because losses and messages must be received
// at once.

const (
	// glance is how often the background reader looks while it has stepped aside. The end of
	// a caller's context may be noticed this much late, and an event twice as much. With a
	// shorter glance lone callers would lose what they gain: each look wakes a thread, which
	// then competes with theirs.
	glance = 10 * time.Millisecond
	// readBuffer is the size of the read buffer while frames are small.
	readBuffer = 32 << 10
)

// reading is which goroutine reads a connection.
type reading uint8

const (
	byNobody reading = iota
	byCaller
	inBackground
)

// turns is which goroutine reads. The mutex of the connection guards it.
type turns struct {
	by       reading
	leader   *call           // the call of the caller that reads
	ctx      context.Context // the context of the caller that reads or read last; nil = none
	led      uint32          // counts how often a caller began to read
	takeOver bool            // the background reader waits for the caller to stop
	lone     time.Duration   // when the background reader last read the reply of a lone call
	aside    bool            // pass has decided that the background reader steps aside
}

// inbox holds the bytes that were read from a connection.
type inbox struct {
	buf        []byte
	start, end int // the part of buf that is not handled yet
	skim       skim
	dec        *codec.Decoder // for notifications
}

func newInbox() inbox {
	return inbox{buf: make([]byte, readBuffer), dec: codec.NewDecoderBytes([]byte{codeNil}, handle)}
}

// takeTurn decides which goroutine reads the reply of a call that is sent, and reports
// whether the caller does.
func (cn *conn) takeTurn(ctx context.Context, cl *call) bool {
	if cn.by != byNobody {
		return false
	}
	if cl.wait > 0 || cn.listens() { // the call takes long, or reading must go on after it
		cn.callBackground()
		return false
	}
	cn.by, cn.leader, cn.ctx = byCaller, cl, ctx
	cn.led++
	return true
}

// callBackground makes the background reader, which has stepped aside, read again.
func (cn *conn) callBackground() {
	cn.by, cn.leader, cn.ctx, cn.takeOver = inBackground, nil, nil, false
	cn.wake <- struct{}{}
}

// lead reads until the call has ended. It returns false if the background reader has taken over.
func (cn *conn) lead(cl *call) bool {
	for {
		err := cn.receive()
		stopped := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !stopped {
			cn.fail(err)
			<-cl.done
			return true
		}
		select {
		case <-cl.done:
			cn.stopLeading()
			return true
		default:
		}
		if stopped && cn.giveWay() {
			return false
		}
	}
}

// stopLeading ends the reading by a caller. The background reader goes on if it wants to take
// over, if other callers wait for replies, or if the connection must be read at once.
func (cn *conn) stopLeading() {
	cn.mu.Lock()
	if cn.takeOver || len(cn.pending) > 0 || cn.listens() {
		cn.callBackground()
	} else {
		cn.by, cn.leader = byNobody, nil
	}
	cn.mu.Unlock()
}

// giveWay lets the background reader read if it wants to take over, and reports whether it does.
func (cn *conn) giveWay() bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if !cn.takeOver {
		return false
	}
	cn.callBackground()
	return true
}

// interrupt interrupts the read of the goroutine that reads. The state that this goroutine is
// to find must be set before: see receive.
func (cn *conn) interrupt() { _ = cn.nc.SetReadDeadline(time.Unix(1, 0)) } // fails only if it is closed

// read is the background reader.
func (cn *conn) read() {
	t := time.NewTimer(glance)
	t.Stop()
	for {
		err := cn.receive()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			cn.fail(err)
			return
		}
		if !cn.standAside(t) {
			return
		}
	}
}

// standAside returns true when the background reader must read, or false when the connection has ended.
func (cn *conn) standAside(t *time.Timer) bool {
	cn.mu.Lock()
	aside, led := cn.aside, cn.led
	cn.aside = false
	cn.mu.Unlock()
	if !aside {
		return true
	}
	t.Reset(glance)
	defer t.Stop()
	var ends <-chan struct{} // Done of the context that was last seen, which most callers use again
	for {
		ticked := false
		select {
		case <-cn.wake:
			return true
		case <-cn.dead:
			return false
		case <-ends:
		case <-t.C:
			ticked = true
		}
		cn.mu.Lock()
		idle := ticked && cn.led == led
		ended := cn.ctx != nil && cn.ctx.Err() != nil
		if cn.by == byNobody && idle {
			cn.by, cn.ctx = inBackground, nil
			cn.mu.Unlock()
			return true
		}
		if cn.by == byCaller && (idle || ended) {
			cn.takeOver = true
			cn.interrupt()
		}
		if ends = nil; cn.ctx != nil && !ended {
			ends = cn.ctx.Done()
		}
		led = cn.led
		cn.mu.Unlock()
		if ticked {
			t.Reset(glance)
		}
	}
}

// receive reads once and handles the complete frames. Its error is os.ErrDeadlineExceeded
// after interrupt; after any other error the connection is unusable.
func (cn *conn) receive() error {
	n, err := cn.nc.Read(cn.buf[cn.end:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Reset before the caller looks for the reason: an interruption in between would be lost.
		_ = cn.nc.SetReadDeadline(time.Time{})
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the sidecar closed the connection")
		}
		return err
	}
	cn.end += n
	return cn.pass()
}

// pass gives complete frames to their receivers: replies to callers, notifications to OnEvent
// and to leases.
//
// Callers whose replies come together often call again at once. So if there are several,
// pass reserves the writing while they run, and writes all that they add at once, unless the
// last of them has already done so.
func (cn *conn) pass() error {
	var done calls
	cn.mu.Lock()
	err := cn.takeAll(&done)
	if err != nil {
		cn.mu.Unlock()
		done.wake()
		return err
	}
	cn.admit(&done)
	cn.buf, cn.end = roomy(cn.buf, cn.start, cn.end)
	cn.start = 0
	if done.n < 2 || cn.writing || cn.err != nil {
		if done.n == 1 && cn.by == inBackground && len(cn.pending) == 0 && !cn.listens() {
			// This comes before the caller is woken, which may call again before this goroutine goes on.
			if now := cn.c.now(); now-cn.lone < glance {
				cn.by, cn.aside = byNobody, true
			} else {
				cn.lone = now
			}
		}
		cn.flush() // the frames that give late grants back, and the admitted calls
		done.wake()
		return nil
	}
	cn.writing, cn.gather = true, done.n
	if cn.maxRunning == 0 || cn.running+done.n <= cn.maxRunning {
		cn.c.gathering.Store(cn)
	}
	cn.mu.Unlock()
	done.wake()
	for come := -1; ; {
		runtime.Gosched()
		cn.mu.Lock()
		if cn.gather == 0 || cn.gather == come {
			break
		}
		come = cn.gather // some callers have added frames, and more may follow
		cn.mu.Unlock()
	}
	cn.c.gathering.CompareAndSwap(cn, nil)
	if cn.gather == 0 {
		cn.mu.Unlock() // the last caller has written
		return nil
	}
	cn.gather = 0
	cn.writeOut()
	return nil
}

// takeAll handles the complete frames, with cn.mu held.
func (cn *conn) takeAll(done *calls) error {
	for cn.start < cn.end {
		n, err := cn.skim.next(cn.buf[cn.start:cn.end])
		if err != nil || n == 0 {
			return err
		}
		if err := cn.take(cn.buf[cn.start:cn.start+n], done); err != nil {
			return err
		}
		cn.start += n
	}
	return nil
}

// roomy moves buf[start:end] to the front of a buffer with free space at its end: the same
// one, a larger one for a long frame, or a small one after a long frame.
func roomy(buf []byte, start, end int) ([]byte, int) {
	rest := buf[start:end]
	switch {
	case len(rest) == len(buf):
		grown := make([]byte, 2*len(buf))
		return grown, copy(grown, rest)
	case len(rest) == 0 && len(buf) > maxKept:
		return make([]byte, readBuffer), 0
	case start == 0:
		return buf, end
	default:
		return buf, copy(buf, rest)
	}
}

// take handles one complete frame, which is valid only until it returns.
func (cn *conn) take(frame []byte, done *calls) error {
	r := cursor{frame}
	n, ok := r.array()
	if !ok {
		return errMalformed
	}
	switch kind, ok := r.integer(); {
	case ok && kind == frameResponse && n == 4:
		id, ok := r.integer()
		if !ok {
			return errMalformed
		}
		return cn.deliver(id, r.b, done)
	case ok && kind == frameNotification && n == 3:
		method, ok := r.text()
		if !ok {
			return errMalformed
		}
		cn.mu.Unlock() // the receivers of a notification lock it
		defer cn.mu.Lock()
		return cn.notified(method, r.b)
	default:
		return errMalformed
	}
}

// deliver gives a reply to its call. The caller decodes it, so that decoding does not delay
// the reader.
func (cn *conn) deliver(id uint64, reply []byte, done *calls) error {
	cl, ok := cn.pending[uint32(id)]
	if !ok {
		return nil // the caller has gone
	}
	cn.forget(cl)
	if cl.late != nil {
		cn.out = append(cn.out, cl.late.lateFrame(cn.dec, reply)...)
		return nil
	}
	err := cn.opened(cl, reply)
	if cl.gone {
		return err
	}
	cn.named(cl.lease, reply)
	cl.reply = append(cl.reply[:0], reply...)
	done.add(cl)
	return err
}
