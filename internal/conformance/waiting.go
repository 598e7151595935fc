package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Waiting tests what lock.acquire with wait_ms promises: first come, first served across sidecars, even if callers
// leave.
func Waiting(t *testing.T, sys System) {
	for name, test := range map[string]func(locker){
		"those who wait are served in their order":           servedInOrder,
		"three hundred are served in their order":            manyInOrder,
		"newcomers do not pass":                              newcomersDoNotPass,
		"a wait in vain says who holds it and leaves":        waitInVain,
		"a cancelled wait gives its place up":                cancelledWait,
		"a connection that closes gives its places up":       closedWait,
		"fifty who leave at once hold nobody up":             fiftyLeave,
		"a lock whose holder is gone goes to the first":      holderGone,
		"a client that dies hands its lock on at once":       clientDies,
		"a free lock is not waited for":                      freeIsNotWaited,
		"the owner's token does not wait for itself":         ownerDoesNotWait,
		"a repeated request id has the grant of its waiting": repeatedWait,
		"a wait that is too long names its field":            waitMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			test(locker{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

// outcome is how a wait ended.
type outcome struct {
	api.LockAcquireResult
	err error
}

// stand starts one more call that waits, and returns when it is in the waiting line.
func (l locker) stand(ctx context.Context, c Client, id string, p api.LockAcquireParams) <-chan outcome {
	l.t.Helper()
	before := l.get(l.b).Waiting
	ended := make(chan outcome, 1)
	p.Name, p.WaitMS = l.name, 60_000
	go func() {
		r, err := do(ctx, c, id, api.LockAcquire, p)
		ended <- outcome{r, err}
	}()
	l.waiting(before + 1)
	return ended
}

// waiting returns as soon as this number of calls is in the waiting line.
func (l locker) waiting(want int64) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(patient(l.t), patience)
	defer cancel()
	for l.get(l.b).Waiting != want {
		require.NoError(l.t, ctx.Err(), "never so many in line: %d", want)
	}
}

func (l locker) served(ended <-chan outcome) api.LockAcquireResult {
	l.t.Helper()
	select {
	case o := <-ended:
		require.NoError(l.t, o.err)
		require.True(l.t, o.Acquired, "%+v", o.LockAcquireResult)
		return o.LockAcquireResult
	case <-time.After(patience):
		l.t.Fatalf("never served: %+v", l.get(l.b))
		return api.LockAcquireResult{}
	}
}

// notServed checks that a call still waits, since another session holds its lock.
func (l locker) notServed(ended <-chan outcome) {
	l.t.Helper()
	select {
	case o := <-ended:
		l.t.Fatalf("served out of turn: %+v %v", o.LockAcquireResult, o.err)
	default:
	}
}

func servedInOrder(l locker) { l.inOrder(8) }
func manyInOrder(l locker)   { l.inOrder(300) }

func (l locker) inOrder(n int) {
	g := l.take(l.a, api.LockAcquireParams{})
	line := make([]<-chan outcome, n)
	for i := range line {
		line[i] = l.stand(patient(l.t), []Client{l.a, l.b}[i%2], "", api.LockAcquireParams{})
	}
	fence, token := l.fence(g.Fence), g.Token
	for i, ended := range line {
		for _, later := range line[i:] {
			l.notServed(later)
		}
		require.True(l.t, l.release(l.a, token).Released)
		r := l.served(ended)
		require.Greater(l.t, l.fence(r.Fence), fence)
		fence, token = l.fence(r.Fence), r.Token
	}
	require.Zero(l.t, l.get(l.a).Waiting)
}

func newcomersDoNotPass(l locker) {
	l.take(l.a, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 1000})
	first := l.stand(patient(l.t), l.a, "", api.LockAcquireParams{})
	l.sys.Advance(time.Second)
	for range 3 {
		busy := l.try(l.b, "", api.LockAcquireParams{})
		require.False(l.t, busy.Acquired, "although the holder's time is over")
		require.Equal(l.t, "busy", busy.Reason)
		require.Positive(l.t, busy.RetryAfterMS)
	}
	l.served(first)
}

func waitInVain(l locker) {
	l.take(l.a, api.LockAcquireParams{})
	r := l.try(l.b, "", api.LockAcquireParams{WaitMS: 1})
	require.False(l.t, r.Acquired)
	require.Equal(l.t, "busy", r.Reason)
	require.Equal(l.t, "a", r.HeldBy.Client)
	require.Equal(l.t, int64(30_001), r.RetryAfterMS)
	require.Zero(l.t, l.get(l.b).Waiting, "its place is given up")
}

func cancelledWait(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	ctx, cancel := context.WithCancel(patient(l.t))
	first := l.stand(ctx, l.b, "", api.LockAcquireParams{})
	second := l.stand(patient(l.t), l.a, "", api.LockAcquireParams{})
	cancel()
	require.Error(l.t, (<-first).err)
	l.waiting(1)
	l.release(l.a, g.Token)
	l.served(second)
}

func closedWait(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	gone := l.sys.Connect(l.t, 0, "gone")
	first := l.stand(patient(l.t), gone, "", api.LockAcquireParams{})
	second := l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	gone.Close()
	require.Error(l.t, (<-first).err)
	l.waiting(1)
	l.release(l.a, g.Token)
	l.served(second)
}

// fiftyLeave closes a client with fifty waiting calls while its sidecar goes on: the sidecar removes the tickets
// itself, so that no heartbeat has to end.
func fiftyLeave(l locker) {
	g := l.take(l.a, api.LockAcquireParams{})
	gone := l.sys.Connect(l.t, 0, "gone")
	for range 50 {
		l.stand(patient(l.t), gone, "", api.LockAcquireParams{})
	}
	live := l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	l.release(l.a, g.Token)
	// Some of the fifty calls are granted the lock before their connection closes, and give it back when it does.
	gone.Close()
	l.served(live)
	require.Zero(l.t, l.get(l.b).Waiting)
}

func holderGone(l locker) {
	// The TTL is shorter than a heartbeat is valid, since the scripts' clock jumps by the whole TTL.
	g := l.take(l.a, api.LockAcquireParams{Bind: api.BindTTL, TTLMS: 2000})
	first := l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	second := l.stand(patient(l.t), l.a, "", api.LockAcquireParams{})
	l.sys.Advance(1999 * time.Millisecond)
	require.True(l.t, l.get(l.a).Held)
	l.notServed(first)
	l.sys.Advance(time.Millisecond)
	r := l.served(first) // nobody released the lock: the first in the waiting line asks by itself
	require.Greater(l.t, l.fence(r.Fence), l.fence(g.Fence))
	l.notServed(second)
	l.release(l.b, r.Token)
	l.served(second)
}

// clientDies closes a client that holds a lock while its sidecar goes on. By the scripts' clock no time passes, so that
// the lock cannot end at its TTL.
func clientDies(l locker) {
	dying := l.sys.Connect(l.t, 0, "dying")
	g := l.take(dying, api.LockAcquireParams{TTLMS: 86_400_000})
	next := l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	dying.Close()
	require.Greater(l.t, l.fence(l.served(next).Fence), l.fence(g.Fence))
}

func freeIsNotWaited(l locker) {
	r := l.take(l.a, api.LockAcquireParams{WaitMS: 60_000})
	require.Equal(l.t, r.Fence, l.get(l.b).Fence)
	require.Zero(l.t, l.get(l.b).Waiting)
}

func ownerDoesNotWait(l locker) {
	p := api.LockAcquireParams{Token: "mine", WaitMS: 60_000}
	g := l.take(l.a, p)
	l.stand(patient(l.t), l.b, "", api.LockAcquireParams{})
	require.Equal(l.t, g.Fence, l.take(l.a, p).Fence)
}

func repeatedWait(l locker) {
	held := l.take(l.a, api.LockAcquireParams{})
	p := api.LockAcquireParams{Name: l.name, WaitMS: 60_000}
	first := l.stand(patient(l.t), l.b, "the-same", p)
	l.release(l.a, held.Token)
	g := l.served(first)
	again, err := do(patient(l.t), l.a, "the-same", api.LockAcquire, p)
	require.NoError(l.t, err)
	require.True(l.t, again.Replayed)
	require.Equal(l.t, []string{g.Token, g.Fence}, []string{again.Token, again.Fence})
	l.b.Close()
	marker := locker{l.t, l.sys, l.a, l.sys.Connect(l.t, 1, "probe"), l.name + " marker"}
	marker.take(marker.b, api.LockAcquireParams{})
	require.True(l.t, l.get(l.a).Held, "it belongs to the connection that repeated the call")
}

func waitMistakes(l locker) {
	for _, ms := range []int64{-1, 60_001} {
		_, err := do(patient(l.t), l.a, "", api.LockAcquire, api.LockAcquireParams{Name: l.name, WaitMS: ms})
		require.ErrorIs(l.t, err, api.InvalidArgument)
		require.ErrorContains(l.t, err, "wait_ms: ")
		require.ErrorContains(l.t, err, "0 to 60000")
	}
}
