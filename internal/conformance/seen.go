package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// seer is one test's view of a set of its own.
type seer struct {
	t    *testing.T
	sys  System
	a, b Client // of sidecar 0 and 1
	set  string
}

// Seen tests what seen.* promises.
func Seen(t *testing.T, sys System) {
	for name, test := range map[string]func(seer){
		"one does it": oneDoesIt,
		"what is done is done until it is forgotten":      doneIsDone,
		"what is given up is done by the next":            givenUpIsTaken,
		"a reservation that ended commits nothing":        endedCommitsNothing,
		"a closed connection's reservations are given up": closedIsGivenUp,
		"a reservation that ended is told":                endedReservationIsTold,
		"a repeated request id is the same reservation":   repeatedReservation,
		"keys are apart, whatever their bytes":            seenAreApart,
		"a hundred ask, one reserves":                     oneReserves,
		"mistakes in a key's parameters name their field": seenMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			test(seer{t, sys, sys.Connect(t, 0, "a"), sys.Connect(t, 1, "b"), t.Name()})
		})
	}
}

func (s seer) try(c Client, id string, p api.SeenReserveParams) api.SeenReserveResult {
	s.t.Helper()
	p.Set = s.set
	if p.Key == "" {
		p.Key = "k"
	}
	r, err := do(patient(s.t), c, id, api.SeenReserve, p)
	require.NoError(s.t, err)
	return r
}

func (s seer) take(c Client, p api.SeenReserveParams) string {
	s.t.Helper()
	r := s.try(c, "", p)
	require.True(s.t, r.Reserved, "%+v", r)
	require.Equal(s.t, api.SeenReserveResult{Reserved: true, State: "new", Token: r.Token}, r)
	return r.Token
}

func (s seer) commit(c Client, token string) api.SeenCommitResult {
	s.t.Helper()
	r, err := do(patient(s.t), c, "", api.SeenCommit, api.SeenCommitParams{Set: s.set, Key: "k", Token: token, KeepMS: 60_000})
	require.NoError(s.t, err)
	return r
}

func (s seer) release(c Client, token string) api.SeenReleaseResult {
	s.t.Helper()
	r, err := do(patient(s.t), c, "", api.SeenRelease, api.SeenReleaseParams{Set: s.set, Key: "k", Token: token})
	require.NoError(s.t, err)
	return r
}

func oneDoesIt(s seer) {
	token := s.take(s.a, api.SeenReserveParams{})
	require.GreaterOrEqual(s.t, len(token), 16)
	for _, c := range []Client{s.a, s.b} {
		require.Equal(s.t, api.SeenReserveResult{State: "reserved", RetryAfterMS: 30_000}, s.try(c, "", api.SeenReserveParams{}))
	}
}

func doneIsDone(s seer) {
	token := s.take(s.a, api.SeenReserveParams{})
	for range 2 {
		require.Equal(s.t, api.SeenCommitResult{Committed: true, Reason: "committed"}, s.commit(s.b, token))
	}
	require.Equal(s.t, api.SeenReserveResult{State: "done", RetryAfterMS: 60_000}, s.try(s.b, "", api.SeenReserveParams{}))
	require.Equal(s.t, api.SeenReleaseResult{Reason: "expired"}, s.release(s.a, token), "done is done")
	s.sys.Advance(time.Minute)
	s.take(s.b, api.SeenReserveParams{})
}

func givenUpIsTaken(s seer) {
	token := s.take(s.a, api.SeenReserveParams{})
	require.Equal(s.t, api.SeenReleaseResult{Reason: "expired"}, s.release(s.b, "another"))
	for range 2 {
		require.Equal(s.t, api.SeenReleaseResult{Released: true, Reason: "released"}, s.release(s.a, token))
	}
	require.Equal(s.t, api.SeenCommitResult{Reason: "expired"}, s.commit(s.a, token))
	s.take(s.b, api.SeenReserveParams{})
}

func endedCommitsNothing(s seer) {
	old := s.take(s.a, api.SeenReserveParams{Bind: api.BindTTL, TTLMS: 1000})
	s.sys.Advance(time.Second)
	require.Equal(s.t, api.SeenCommitResult{Reason: "expired"}, s.commit(s.a, old))
	next := s.take(s.b, api.SeenReserveParams{})
	require.Equal(s.t, api.SeenCommitResult{Reason: "expired"}, s.commit(s.a, old))
	require.Equal(s.t, api.SeenReleaseResult{Reason: "expired"}, s.release(s.a, old))
	require.True(s.t, s.commit(s.b, next).Committed)
}

func closedIsGivenUp(s seer) {
	gone := s.sys.Connect(s.t, 0, "gone")
	s.take(gone, api.SeenReserveParams{TTLMS: 86_400_000})
	gone.Close()
	ctx, cancel := context.WithTimeout(patient(s.t), patience)
	defer cancel()
	for !s.try(s.b, "", api.SeenReserveParams{}).Reserved {
		require.NoError(s.t, ctx.Err(), "it is never given up")
	}
}

func endedReservationIsTold(s seer) {
	token := s.take(s.a, api.SeenReserveParams{TTLMS: 9000})
	s.sys.Advance(time.Hour)
	select {
	case lost := <-s.a.Lost():
		require.Equal(s.t, []string{token, "expired"}, []string{lost.Token, lost.Reason})
		require.Contains(s.t, lost.Name, ":k")
	case <-time.After(patience):
		s.t.Fatal("no seen.lost")
	}
}

func repeatedReservation(s seer) {
	first := s.try(s.a, "id", api.SeenReserveParams{TTLMS: 86_400_000})
	again := s.try(s.b, "id", api.SeenReserveParams{TTLMS: 86_400_000})
	require.Equal(s.t, api.SeenReserveResult{Reserved: true, State: "new", Token: first.Token, Replayed: true}, again)
	marker := s.take(s.a, api.SeenReserveParams{Key: "marker", TTLMS: 86_400_000})
	s.a.Close()
	ctx, cancel := context.WithTimeout(patient(s.t), patience)
	defer cancel()
	for r := s.try(s.b, "", api.SeenReserveParams{Key: "marker"}); !r.Reserved; r = s.try(s.b, "", api.SeenReserveParams{Key: "marker"}) {
		require.NotEqual(s.t, marker, r.Token)
		require.NoError(s.t, ctx.Err(), "it is never given up")
	}
	require.True(s.t, s.commit(s.b, first.Token).Committed, "the lost connection's end does not give it up")
	require.Equal(s.t, api.SeenReserveResult{State: "done", Replayed: true, Reason: "released"}, s.try(s.b, "id", api.SeenReserveParams{TTLMS: 86_400_000}))
	_, err := do(patient(s.t), s.b, "id", api.SeenReserve, api.SeenReserveParams{Set: s.set, Key: "k", TTLMS: 777})
	require.ErrorIs(s.t, err, api.Conflict)
}

func seenAreApart(s seer) {
	for _, set := range []string{"x", "x:y", "{x}"} {
		s.set = s.t.Name() + set
		for _, key := range names() {
			s.take(s.a, api.SeenReserveParams{Key: key})
		}
	}
}

func oneReserves(s seer) {
	results := make(chan bool, 100)
	for i := range cap(results) {
		go func() {
			r, err := do(patient(s.t), []Client{s.a, s.b}[i%2], "", api.SeenReserve, api.SeenReserveParams{Set: s.set, Key: "k"})
			if err != nil {
				s.t.Error(err)
			}
			results <- r.Reserved
		}()
	}
	reserved := 0
	for range cap(results) {
		if <-results {
			reserved++
		}
	}
	require.Equal(s.t, 1, reserved)
}

func seenMistakes(s seer) {
	for want, p := range map[string]api.SeenReserveParams{
		"set":    {Key: "k"},
		"key":    {Set: s.set},
		"ttl_ms": {Set: s.set, Key: "k", TTLMS: 99},
	} {
		_, err := do(patient(s.t), s.a, "", api.SeenReserve, p)
		require.ErrorIs(s.t, err, api.InvalidArgument, "%+v", p)
		require.ErrorContains(s.t, err, want)
	}
	_, err := do(patient(s.t), s.a, "", api.SeenCommit, api.SeenCommitParams{Set: s.set, Key: "k", Token: "t", KeepMS: -1})
	require.ErrorIs(s.t, err, api.InvalidArgument)
	require.ErrorContains(s.t, err, "keep_ms")
}
