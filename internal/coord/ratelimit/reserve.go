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

// slot is a promise of a bucket: from at on, cost that was charged may be used.
type slot struct {
	at, made int64     // by the Redis server's clock, Unix microseconds
	due      time.Time // at by this pod's clock, never earlier
	cost     int64
	id       string // of the grant that it was charged as
	// borrowed: it was promised to another sidecar, which the call with this
	// request id may still be waiting in. It is that one's to give back.
	borrowed bool
}

// reservations are the calls of this sidecar that wait for promised slots. Each
// sleeps on a timer, with no connection and no goroutine; the whole wait is the
// one script that promised the slot.
//
// Who leaves before its slot frees it. A bucket takes back only the last of all
// slots: the tokens of an inner one pass by unused while later ones are kept, so
// that crediting it would let more through than the limit. Any other goes to
// the next call here that it is enough for, which frees a later one in turn; the
// last of that chain is given back or lapses. Slots of other sidecars never move.
type reservations struct {
	clock    coord.Clock
	crew     *coord.Crew // goes on with calls whose wait is over
	giveBack func(ctx context.Context, bucket, stored string, s slot) (SlotState, error)

	mu       sync.Mutex // guards what follows, and the reservations themselves
	n        int
	waiting  map[string][]*reservation // by bucket, the earliest slot first
	requests map[lua.StoredReply]*reservation
}

// reservation is one call that may wait, or several with one request id.
type reservation struct {
	bucket  string
	request lua.StoredReply // zero = none
	need    int64
	callers int // how many calls it has; the last one to leave frees the slot

	stage stage
	slot  slot
	told  *decision // what the promise said; known to who repeats the request
	// seat gives back the place that goes with the slot, of whichever call's session
	// has it now; nil = there is none.
	seat func(context.Context)
	stop func() bool
	// sleepers are its calls that wait for the slot to come.
	sleepers []*sleeper
	// freed is closed when a freed slot has found its place; nil without a request id.
	freed chan struct{}
}

// sleeper is one call, which goes on when the slot has come or its time is over. It
// has no goroutine until then.
type sleeper struct {
	ctx  context.Context // of the call, which is set aside
	then func(slot, error)
	up   bool
	deaf func() // it no longer hears of the end of ctx
}

// stage is how far a reservation has come.
type stage uint8

const (
	asking   stage = iota // no slot is known so far
	sleeping              // until its slot
	arrived               // the slot has come, and is used
	leaving               // everyone left, and the slot is being freed
)

// maxReservations bounds the calls that wait. One more is told when it may
// succeed, as if it had not offered to wait.
const maxReservations = 1 << 16

func newReservations(clock coord.Clock, giveBack func(context.Context, string, string, slot) (SlotState, error)) *reservations {
	return &reservations{
		clock: clock, crew: coord.NewCrew(lease.MaxSteps), giveBack: giveBack,
		waiting: make(map[string][]*reservation), requests: make(map[lua.StoredReply]*reservation),
	}
}

// enter makes the reservation of a call, or takes over that of an earlier one
// with the same request id: whichever of them leaves last frees the slot. It is
// nil when too many wait.
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
		// Its stored reply is being deleted: before that, the script would answer the slot
		// that is given away.
		r.mu.Unlock()
		select {
		case <-x.freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// promised reports what an earlier call with this request id was told, if that is known.
func (r *reservations) promised(x *reservation) (decision, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.told == nil {
		return decision{}, false
	}
	return *x.told, true
}

// promise gives a reservation its slot, unless another call with its request id
// has already.
func (r *reservations) promise(x *reservation, s slot, told decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case x.stage == asking:
		x.stage, x.told = sleeping, &told
		r.sleep(x, s)
	case x.stage == sleeping && x.slot.at == s.at && !s.borrowed:
		x.slot.borrowed = false // the repetition was answered before the call itself
	}
}

// sleep files x under its slot, and wakes it then. It needs r.mu.
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

func (r *reservations) arrive(x *reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The timer of a slot that it has no more finds it elsewhere, or woken.
	if x.stage == sleeping && !r.clock.Now().Before(x.slot.due) {
		r.wake(x)
		x.stage = arrived
		for _, y := range x.sleepers {
			r.rouse(y, x.slot, nil)
		}
		x.sleepers = nil
	}
}

// await goes on when the slot has come, with which it is, or with ctx's error.
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
	hear := coord.HearEnd
	if end, ok := ctx.Deadline(); ok && end.Before(x.slot.due) {
		hear = coord.HearDeadline // the slot was promised to an earlier call that has longer
	}
	y.deaf = hear(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rouse(y, slot{}, ctx.Err())
	})
}

// rouse has a call go on, once. It needs r.mu.
func (r *reservations) rouse(y *sleeper, s slot, err error) {
	if y.up {
		return // the slot that came is used, whoever reads the answer
	}
	y.up = true
	y.deaf()
	r.crew.Go(func() {
		defer coord.TellPanic(y.ctx)
		y.then(s, err)
	})
}

// seated tells how to give back the place that goes with a slot.
func (r *reservations) seated(x *reservation, leave func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.seat = leave
}

// leave ends a call's part in its reservation, and frees a slot that nobody will
// use, its place first: a repetition that comes after may take one by the same
// name. It reports whether the bucket has something back.
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
		seat := x.seat
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease.GiveBackTime)
		if seat != nil {
			seat(ctx)
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

// free finds a place for a slot. The stored reply of who left has to go before anyone
// else may have the slot, or its repetition would be let through as well.
func (r *reservations) free(ctx context.Context, bucket, stored string, s slot) (credited bool) {
	for {
		if stored == "" && r.pass(bucket, &s) {
			continue
		}
		// Not repeated when its reply is lost: then the slot lapses.
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

// pass gives a slot that has not come to the next call that it is enough for,
// and takes that one's slot for it.
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
