package ratelimit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// slot is a promise of a limit: the cost, which was charged at once, may be used from at on.
type slot struct {
	at, made int64     // by the Redis server's clock, Unix microseconds
	due      time.Time // at by this pod's clock, never earlier
	cost     int64
	id       string // of the grant that it was charged as
	// borrowed: the slot was promised through another sidecar, in which the first call with
	// this request id may still wait. Only that sidecar gives it back.
	borrowed bool
}

// reservations are the calls of this sidecar that wait for promised slots. Each
// sleeps on a timer, without a connection and without a goroutine. The script that
// promised the slot is the only one that runs for the wait.
//
// A call that ends before its slot comes frees the slot. A bucket takes back only the
// last slot that it promised: the tokens of an earlier one pass unused while later slots
// stay where they are, so that crediting it would admit more than the limit. So an
// earlier slot goes to the next call of this sidecar for which its cost is enough. That
// call frees its own, later slot, and so on; the last slot of this chain is given back or
// lapses. Slots that other sidecars were promised never move.
type reservations struct {
	clock    coord.Clock
	crew     *coord.Crew // runs the rest of calls whose wait is over
	giveBack func(ctx context.Context, bucket, stored string, s slot) (SlotState, error)

	mu       sync.Mutex // guards the fields below, and the fields of each reservation
	n        int
	waiting  map[string][]*reservation // by bucket, the earliest slot first
	requests map[lua.StoredReply]*reservation
}

// reservation is one call that may wait, or several with one request id.
type reservation struct {
	bucket  string
	request lua.StoredReply // zero = none
	need    int64
	callers int // number of calls that share it; the last one to leave frees the slot

	stage stage
	slot  slot
	told  *decision // the decision that promised the slot; repetitions of the request are answered with it
	// releasePermit releases the permit that goes with the slot, which the session of one of
	// its calls holds; nil = it has none.
	releasePermit func(context.Context)
	stop          func() bool
	// sleepers are its calls that wait until the slot comes.
	sleepers []*sleeper
	// freed is closed when the slot has been given back or passed on; nil without a request id.
	freed chan struct{}
}

// sleeper is one call, which goes on when the slot has come or its context has ended. It
// has no goroutine until then.
type sleeper struct {
	ctx  context.Context // of the call
	then func(slot, error)
	up   bool   // then was started
	stop func() // stops waiting for the end of ctx
}

// stage is how far a reservation has come.
type stage uint8

const (
	asking   stage = iota // no slot is known so far
	sleeping              // until its slot
	arrived               // the slot has come, and is used
	leaving               // all its calls left, and the slot is being freed
)

// maxReservations bounds the calls that wait. A further call is refused with the time
// after which it may succeed, as if it had asked not to wait.
const maxReservations = 1 << 16

func newReservations(clock coord.Clock, giveBack func(context.Context, string, string, slot) (SlotState, error)) *reservations {
	return &reservations{
		clock: clock, crew: coord.NewCrew(lease.MaxSteps), giveBack: giveBack,
		waiting: make(map[string][]*reservation), requests: make(map[lua.StoredReply]*reservation),
	}
}

// enter makes the reservation of a call, or joins that of an earlier call with the same
// request id; the last of them to leave frees the slot. It returns nil if too many
// calls wait.
func (r *reservations) enter(ctx context.Context, bucket string, request lua.StoredReply, need int64) (*reservation, error) {
	for {
		r.mu.Lock()
		x := r.requests[request]
		switch {
		case x == nil && r.n >= maxReservations:
			r.mu.Unlock()
			return nil, nil
		case x == nil:
			x = &reservation{bucket: bucket, request: request, need: need, callers: 1}
			r.n++
			if request.Key != "" {
				x.freed = make(chan struct{})
				r.requests[request] = x
			}
			r.mu.Unlock()
			return x, nil
		case x.stage != leaving:
			x.callers++
			r.mu.Unlock()
			return x, nil
		}
		// The slot is being freed, and its stored reply deleted: until that is done, the
		// script would return the slot that is given away.
		r.mu.Unlock()
		select {
		case <-x.freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// promised returns the decision for an earlier call with this request id, if there is one.
func (r *reservations) promised(x *reservation) (decision, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.told == nil {
		return decision{}, false
	}
	return *x.told, true
}

// promise gives a reservation its slot, unless another call with its request id has
// done so.
func (r *reservations) promise(x *reservation, s slot, told decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case x.stage == asking:
		x.stage, x.told = sleeping, &told
		r.sleep(x, s)
	case x.stage == sleeping && x.slot.at == s.at && !s.borrowed:
		x.slot.borrowed = false // the repetition was answered before the call that was promised the slot
	}
}

// sleep files x under its slot, and starts the timer that wakes it. It needs r.mu.
func (r *reservations) sleep(x *reservation, s slot) {
	x.slot = s
	line := r.waiting[x.bucket]
	i, _ := slices.BinarySearchFunc(line, s.at, func(o *reservation, at int64) int { return cmp.Compare(o.slot.at, at+1) })
	r.waiting[x.bucket] = slices.Insert(line, i, x)
	x.stop = r.clock.AfterFunc(s.due.Sub(r.clock.Now()), func() { r.arrive(x) })
}

// wake undoes sleep. It needs r.mu.
func (r *reservations) wake(x *reservation) {
	x.stop()
	line := r.waiting[x.bucket]
	i := slices.Index(line, x)
	if line = slices.Delete(line, i, i+1); len(line) == 0 {
		delete(r.waiting, x.bucket)
		return
	}
	r.waiting[x.bucket] = line
}

// arrive wakes the calls of a reservation when its slot has come.
func (r *reservations) arrive(x *reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The timer of a slot that x has exchanged finds another slot in x, or x not sleeping.
	if x.stage == sleeping && !r.clock.Now().Before(x.slot.due) {
		r.wake(x)
		x.stage = arrived
		for _, y := range x.sleepers {
			r.rouse(y, x.slot, nil)
		}
		x.sleepers = nil
	}
}

// await calls then with the slot when it has come, or with ctx's error.
func (r *reservations) await(ctx context.Context, x *reservation, then func(slot, error)) {
	r.mu.Lock()
	if x.stage == arrived {
		s := x.slot
		r.mu.Unlock()
		then(s, nil)
		return
	}
	defer r.mu.Unlock()
	y := &sleeper{ctx: ctx, then: then}
	x.sleepers = append(x.sleepers, y)
	on := coord.OnEnd
	if end, ok := ctx.Deadline(); ok && end.Before(x.slot.due) {
		on = coord.OnDeadline // the slot was promised to an earlier call with a later deadline
	}
	y.stop = on(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rouse(y, slot{}, ctx.Err())
	})
}

// rouse starts the rest of a call, once. It needs r.mu.
func (r *reservations) rouse(y *sleeper, s slot, err error) {
	if y.up {
		return // a slot that has come counts as used, even if the call has ended
	}
	y.up = true
	y.stop()
	r.crew.Go(func() {
		defer coord.TellPanic(y.ctx)
		y.then(s, err)
	})
}

// setPermit sets the function that releases the permit that goes with a slot.
func (r *reservations) setPermit(x *reservation, release func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.releasePermit = release
}

// leave ends a call's part in its reservation. The last call frees a slot that has not
// come. It releases the permit first: a repetition that comes later may take a permit
// with the same id. leave reports whether tokens were credited to the bucket.
func (r *reservations) leave(ctx context.Context, x *reservation) (credited bool) {
	r.mu.Lock()
	x.callers--
	if x.callers > 0 {
		r.mu.Unlock()
		return false
	}
	if x.stage == sleeping {
		r.wake(x)
		x.stage = leaving
	}
	if x.stage == leaving {
		release := x.releasePermit
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
		if release != nil {
			release(ctx)
		}
		if !x.slot.borrowed {
			credited = r.free(ctx, x.bucket, x.request.Key, x.slot)
		}
		cancel()
		r.mu.Lock()
	}
	r.n--
	if x.request.Key != "" {
		delete(r.requests, x.request)
	}
	r.mu.Unlock()
	if x.freed != nil {
		close(x.freed)
	}
	return credited
}

// free passes a slot on to other calls of this sidecar, or gives it back. The stored reply
// of the call that left is deleted before another call gets the slot, or a repetition of
// that call would be admitted as well.
func (r *reservations) free(ctx context.Context, bucket, stored string, s slot) (credited bool) {
	for {
		if stored == "" && r.pass(bucket, &s) {
			continue
		}
		// It is not repeated if its reply is lost: then the slot lapses.
		state, err := r.giveBack(ctx, bucket, stored, s)
		if err != nil || state != SlotInner {
			return err == nil && state == SlotCredited
		}
		stored = ""
		if !r.pass(bucket, &s) {
			return false
		}
	}
}

// pass gives a slot that has not come to the next call for which its cost is enough, and
// replaces *s by the slot of that call.
func (r *reservations) pass(bucket string, s *slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if !now.Before(s.due) {
		return false
	}
	for _, x := range r.waiting[bucket] {
		if x.slot.at <= s.at || x.need > s.cost || x.slot.borrowed || !now.Before(x.slot.due) {
			continue
		}
		later := x.slot
		r.wake(x)
		r.sleep(x, *s)
		*s = later
		return true
	}
	return false
}
