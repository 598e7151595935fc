package client

import (
	"context"
	"slices"
	"time"
)

// Calls have no timers of their own. Each connection has one timer, which runs at the earliest
// deadline that was passed to sweepBy. By then nearly all calls have ended, and the timer is
// set to the earliest deadline of the others.

// errTooLate ends a call whose deadline has passed.
var errTooLate = ended(context.DeadlineExceeded)

// sweepBy makes sure that the sweeper runs at the deadline or before.
func (cn *conn) sweepBy(deadline, now time.Duration) {
	if cn.sweepAt != 0 && cn.sweepAt <= deadline {
		return
	}
	cn.sweepAt = max(deadline, 1)
	if left := max(deadline-now, 0); cn.sweeper == nil {
		cn.sweeper = time.AfterFunc(left, cn.sweep)
	} else {
		cn.sweeper.Reset(left)
	}
}

// sweep ends the calls whose deadline has passed.
func (cn *conn) sweep() {
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return
	}
	now := cn.c.now()
	var late calls
	reads := false // one of the late callers is reading
	cn.sweepAt = 0
	cn.queue = slices.DeleteFunc(cn.queue, func(cl *call) bool {
		if cl.deadline > now {
			cn.sweepBy(cl.deadline, now)
			return false
		}
		cl.queued, cl.err = false, errTooLate
		late.add(cl)
		return true
	})
	for _, cl := range cn.pending {
		switch {
		case cl.late != nil, cl.gone:
		case cl.deadline > now:
			cn.sweepBy(cl.deadline, now)
		default:
			cn.cancel(cl)
			cl.err = errTooLate
			late.add(cl)
			reads = reads || cl == cn.leader
		}
	}
	cn.admit(&late)
	cn.flush()
	late.wake()
	if reads {
		cn.interrupt()
	}
}

// abandon cancels a call whose caller stops waiting. It returns false if the call has
// already ended.
func (cn *conn) abandon(cl *call) bool {
	var failed calls
	defer failed.wake()
	cn.mu.Lock()
	if cl.queued {
		cn.queue = slices.DeleteFunc(cn.queue, func(other *call) bool { return other == cl })
		cn.mu.Unlock()
		return true
	}
	if cn.pending[cl.msgid] != cl {
		cn.mu.Unlock()
		return false
	}
	cn.cancel(cl)
	cn.admit(&failed)
	cn.flush()
	return true
}

// cancel asks the sidecar to cancel a call in flight whose caller no longer waits.
func (cn *conn) cancel(cl *call) {
	cn.forget(cl)
	if cl.lease != nil {
		// The grant may be on its way. It is given back when it arrives.
		delete(cn.held, cl.lease.token)
		cn.pending[cl.msgid] = &call{late: cl.lease}
	} else if cl.opens != nil {
		cn.pending[cl.msgid] = &call{opens: cl.opens, gone: true}
	}
	cn.out = appendCancel(cn.out, cl.msgid)
}
