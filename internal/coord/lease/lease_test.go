package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// The renewer is tested in a bubble whose clock stands still until every
// goroutine waits, so that instants are exact.

// noun is a fake noun that records what it is asked to do, and when.
type noun struct {
	lease.FakeKind
	start time.Time

	mu       sync.Mutex // guards what follows
	renewals []string   // "name@when"
	batches  []int      // sizes
	returned []string   // names, sorted within a batch
	sessions map[string]bool
	answer   func(name string, sent time.Time) lease.Renewal
	// delay is the time until a renewal gets its reply.
	delay time.Duration
}

func newNoun() *noun {
	n := &noun{start: time.Now(), sessions: make(map[string]bool)}
	n.answer = func(_ string, sent time.Time) lease.Renewal { return lease.Renewed(sent) }
	n.OnRenew = n.renew
	n.OnGiveBack = n.giveBack
	return n
}

func (n *noun) renew(ctx context.Context, due []lease.Hold) []lease.Renewal {
	sent := time.Now()
	n.mu.Lock()
	n.batches = append(n.batches, len(due))
	results := make([]lease.Renewal, len(due))
	for i, h := range due {
		n.renewals = append(n.renewals, fmt.Sprintf("%s@%v", h.Name, sent.Sub(n.start).Truncate(time.Second)))
		n.sessions[h.Session] = true
		results[i] = n.answer(h.Name, sent)
	}
	delay := n.delay
	n.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return slices.Repeat([]lease.Renewal{lease.Faulty(ctx.Err())}, len(due))
		}
	}
	return results
}

func (n *noun) giveBack(_ context.Context, gone []lease.Hold) []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, h := range gone {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	n.returned = append(n.returned, names...)
	return make([]error, len(gone))
}

func (n *noun) set(answer func(name string, sent time.Time) lease.Renewal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = answer
}

func (n *noun) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.renewals)
}

// watch is a session that records the losses reported to it, and when.
type watch struct {
	*coord.Session
	leases *lease.Leases
	mu     sync.Mutex // guards losses
	losses []string
}

func (w *watch) lost() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.losses)
}

func open(l *lease.Leases) *watch {
	w := &watch{leases: l}
	start := time.Now()
	w.Session = l.Open(coord.Identity{Client: "test"}, func(x coord.Loss) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.losses = append(w.losses, fmt.Sprintf("%s %s %d %s at %v", x.Noun, x.Name, x.Fence, x.Reason, time.Since(start).Truncate(10*time.Millisecond)))
	})
	return w
}

func (w *watch) Close(ctx context.Context) { w.leases.Close(ctx, w.Session) }

// Bind binds a fake lease, granted now, to the session.
func (w *watch) Bind(k *lease.FakeKind, name string, ttl time.Duration) bool {
	return w.leases.BindFake(w.Session, k, name, ttl)
}

// Ambiguous records, in the session, a fake lease that may be held.
func (w *watch) Ambiguous(k *lease.FakeKind, name string, ttl time.Duration) bool {
	return w.leases.AmbiguousFake(w.Session, k, name, ttl)
}

// bubble runs a test with a renewer, which ends before the bubble does.
func bubble(t *testing.T, f func(t *testing.T, l *lease.Leases)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lease.NewLeases(telemetry.Nop())
		t.Cleanup(func() {
			l.Stop(context.Background())
			require.Zero(t, l.Held())
		})
		f(t, l)
	})
}

const ttl = 30 * time.Second

func TestALeaseIsRenewedAtAThirdOfItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		require.True(t, w.Bind(&n.FakeKind, "a", ttl))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.Zero(t, n.count(), "never before nine tenths of a third")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, n.count())
		time.Sleep(9 * ttl)
		synctest.Wait()
		require.InDelta(t, 28, n.count(), 3, "three for each TTL")
		require.Empty(t, w.lost())
		require.Equal(t, map[string]bool{w.ID: true}, n.sessions)
		require.Equal(t, 1, l.Held())
	})
}

func TestLeasesTakenTogetherShareTheirPipelines(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		// 2,000 leases are due within a second, so that most share a window of 10 ms.
		for i := range 2000 {
			w.Bind(&n.FakeKind, fmt.Sprint(i), ttl)
		}
		time.Sleep(ttl / 3)
		synctest.Wait()
		require.Equal(t, 2000, n.count())
		require.LessOrEqual(t, len(n.batches), 101, "pipelines")
		require.LessOrEqual(t, slices.Max(n.batches), 500)
	})
}

func TestShortAndLongLeasesDoNotShareTheirPatience(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		// Replies for long leases take longer than the time that a short lease has left.
		n.OnRenew = func(ctx context.Context, due []lease.Hold) []lease.Renewal {
			if slices.ContainsFunc(due, func(h lease.Hold) bool { return h.TTL == ttl }) {
				select {
				case <-time.After(60 * time.Millisecond):
				case <-ctx.Done():
					// At the end of the test, Stop ends the renewals that are under way.
					require.NotErrorIs(t, ctx.Err(), context.DeadlineExceeded, "a renewal of a long lease was cut off")
				}
			}
			return n.renew(ctx, due)
		}
		for i := range 100 {
			w.Bind(&n.FakeKind, fmt.Sprint(i), ttl)
			w.Bind(&n.FakeKind, fmt.Sprint("short", i), 200*time.Millisecond)
		}
		time.Sleep(ttl)
		synctest.Wait()
		require.Empty(t, w.lost())
		require.Equal(t, 200, l.Held())
	})
}

func TestALostReplyIsTriedAgainWhileTheLeaseIsValid(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		first := true
		n.set(func(_ string, sent time.Time) lease.Renewal {
			if first {
				first = false
				n.delay = time.Hour // the reply never comes
				return lease.Renewal{}
			}
			n.delay = 0
			return lease.Renewed(sent)
		})
		w.Bind(&n.FakeKind, "a", ttl)
		time.Sleep(3 * ttl)
		synctest.Wait()
		require.Empty(t, w.lost(), "one lost reply loses nothing")
		require.Equal(t, 1, l.Held())
	})
}

func TestALossIsReportedBeforeTheValidityEnds(t *testing.T) {
	for name, fail := range map[string]func(*noun){
		"refused": func(n *noun) {
			n.answer = func(string, time.Time) lease.Renewal { return lease.Faulty(errors.New("refused")) }
		},
		"silent": func(n *noun) { n.delay = 100 * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *lease.Leases) {
				n := newNoun()
				fail(n)
				for _, ttl := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second, 24 * time.Hour} {
					s := make(chan time.Time, 1)
					w := l.Open(coord.Identity{}, func(x coord.Loss) {
						if x.Reason == lease.ReasonUnreachable {
							s <- time.Now()
						}
					})
					sent := time.Now()
					l.BindFake(w, &n.FakeKind, "a"+ttl.String(), ttl)
					told := <-s
					require.True(t, told.Before(lease.Validity(sent, ttl)), "%v: told %v after the grant", ttl, told.Sub(sent))
					require.True(t, told.After(sent.Add(ttl*9/10)), "%v: not given up too early, at %v", ttl, told.Sub(sent))
					require.GreaterOrEqual(t, n.count(), 3, "tries")
				}
				require.Zero(t, l.Held())
			})
		})
	}
}

func TestRetriesBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		n.answer = func(string, time.Time) lease.Renewal { return lease.Faulty(errors.New("down")) }
		for i := range 100 {
			w.Bind(&n.FakeKind, fmt.Sprint(i), ttl)
		}
		time.Sleep(ttl)
		synctest.Wait()
		require.Len(t, w.lost(), 100)
		require.LessOrEqual(t, n.count(), 100*9, "tries while Redis is down")
		require.GreaterOrEqual(t, n.count(), 100*4)
	})
}

func TestALeaseOfAnotherHolderIsReportedLostAtOnceAndOnce(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		n.set(func(name string, sent time.Time) lease.Renewal {
			switch name {
			case "moved":
				return lease.Moved()
			case "taken":
				return lease.Gone(lease.ReasonNotOwner)
			case "gone":
				return lease.Gone(lease.ReasonExpired)
			default:
				return lease.Renewed(sent)
			}
		})
		for _, name := range []string{"moved", "taken", "gone", "held"} {
			w.Bind(&n.FakeKind, name, ttl)
		}
		time.Sleep(ttl / 3)
		synctest.Wait()
		require.Len(t, w.lost(), 2)
		require.Contains(t, w.lost()[0]+w.lost()[1], "fake taken 7 not_owner at 9")
		require.Contains(t, w.lost()[0]+w.lost()[1], "fake gone 7 expired at 9")
		require.Equal(t, 1, l.Held(), "a lease that moved to another session is forgotten in silence")
		time.Sleep(2 * ttl)
		synctest.Wait()
		require.Len(t, w.lost(), 2)
	})
}

func TestAReleasedLeaseIsNeverRenewedOrReported(t *testing.T) {
	for name, answer := range map[string]lease.Renewal{
		"found gone": lease.Gone(lease.ReasonExpired), "renewed": lease.Renewed(time.Time{}), "faulty": lease.Faulty(errors.New("x")),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *lease.Leases) {
				n, w := newNoun(), open(l)
				n.delay = time.Second
				n.answer = func(string, time.Time) lease.Renewal { return answer }
				w.Bind(&n.FakeKind, "a", ttl)
				time.Sleep(ttl / 3)
				synctest.Wait()
				require.Equal(t, 1, n.count(), "a renewal is in flight")
				require.True(t, l.ForgetFake("a"))
				require.False(t, l.ForgetFake("a"))
				time.Sleep(3 * ttl)
				synctest.Wait()
				require.Equal(t, 1, n.count())
				require.Empty(t, w.lost())
				require.Zero(t, l.Held())
			})
		})
	}
}

func TestALeaseGrantedAnewOutlivesTheRenewalOfTheOldOne(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, old, heir := newNoun(), open(l), open(l)
		n.delay = time.Second
		n.set(func(string, time.Time) lease.Renewal { return lease.Moved() })
		old.Bind(&n.FakeKind, "a", ttl)
		time.Sleep(ttl / 3)
		synctest.Wait()
		heir.Bind(&n.FakeKind, "a", ttl) // the same token, through another connection
		n.set(func(_ string, sent time.Time) lease.Renewal { return lease.Renewed(sent) })
		old.Close(t.Context())
		require.Empty(t, n.returned, "what moved is not given back by its old coordtest.Session")
		time.Sleep(3 * ttl)
		synctest.Wait()
		require.Equal(t, 1, l.Held())
		require.Empty(t, old.lost())
		require.Empty(t, heir.lost())
		heir.Close(t.Context())
		require.Equal(t, []string{"a"}, n.returned)
	})
}

func TestAnExplicitRenewalMovesTheNextOne(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		w.Bind(&n.FakeKind, "a", ttl)
		for range 10 {
			time.Sleep(8 * time.Second)
			l.ExtendFake("a", ttl)
		}
		synctest.Wait()
		require.Zero(t, n.count(), "renewed by the caller often enough")
		l.ExtendFake("a", 3*ttl)
		time.Sleep(26 * time.Second)
		synctest.Wait()
		require.Zero(t, n.count(), "the next is due at a third of the new TTL")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, n.count())
	})
}

func TestAShorterRenewalByTheOwnerEndsTheValidityEarlier(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		n.answer = func(string, time.Time) lease.Renewal { return lease.Faulty(errors.New("down")) }
		w.Bind(&n.FakeKind, "a", ttl)
		l.ExtendFake("a", time.Second)
		time.Sleep(ttl)
		synctest.Wait()
		require.Equal(t, []string{"fake a 7 unreachable at 930ms"}, w.lost())
	})
}

// A renewal that the renewer has already sent, with the earlier TTL, would undo the owner's renewal.
func TestARenewalByTheOwnerComesAfterTheRenewersOwn(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		n.delay = time.Second
		w.Bind(&n.FakeKind, "a", ttl)
		time.Sleep(ttl/3 + time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, n.count(), "it is under way")
		n.mu.Lock()
		n.delay = 0 // of later renewals
		n.mu.Unlock()
		began := time.Now()
		l.ExtendFake("a", 3*time.Second)
		require.Positive(t, time.Since(began), "it has waited for that one")
		time.Sleep(ttl)
		synctest.Wait()
		require.Empty(t, w.lost())
		require.Greater(t, n.count(), 20, "it is renewed as its owner said since then")
	})
}

func TestARenewalOfALostLeaseEndsOnlyThatLease(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		w.Bind(&n.FakeKind, "a", ttl)
		stale := l.LookupFake("a")
		w.Bind(&n.FakeKind, "a", ttl) // granted again while the renewal ran
		stale(lease.ReasonExpired)
		require.Empty(t, w.lost())
		l.LookupFake("a")(lease.ReasonNotOwner)
		require.Equal(t, []string{"fake a 7 not_owner at 0s"}, w.lost())
		l.LookupFake("a")(lease.ReasonNotOwner) // there is no lease
		require.Len(t, w.lost(), 1)
	})
}

func TestClosingASessionGivesBackAllItHolds(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w, other := newNoun(), open(l), open(l)
		for _, name := range []string{"a", "b", "c"} {
			w.Bind(&n.FakeKind, name, ttl)
		}
		other.Bind(&n.FakeKind, "x", ttl)
		require.True(t, w.Ambiguous(&n.FakeKind, "maybe", ttl))
		require.Equal(t, 4, l.Held(), "what is in ambiguous does not count")
		w.Close(t.Context())
		w.Close(t.Context()) // a second Close does nothing
		require.Equal(t, []string{"a", "b", "c", "maybe"}, n.returned)
		require.Equal(t, 1, l.Held())
		require.False(t, w.Bind(&n.FakeKind, "late", ttl), "nothing binds to a closed session")
		require.False(t, w.Ambiguous(&n.FakeKind, "late", ttl))
		time.Sleep(ttl)
		synctest.Wait()
		require.Empty(t, w.lost())
	})
}

func TestAnAmbiguousLeaseIsForgottenWithItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		w.Ambiguous(&n.FakeKind, "never", ttl)
		w.Ambiguous(&n.FakeKind, "wrong", ttl)
		l.LookupFake("wrong")(lease.ReasonExpired)
		w.Ambiguous(&n.FakeKind, "granted", ttl)
		w.Bind(&n.FakeKind, "granted", ttl)
		require.True(t, w.Ambiguous(&n.FakeKind, "granted", ttl), "what is held is in no ambiguous")
		time.Sleep(ttl)
		synctest.Wait()
		require.NotContains(t, fmt.Sprint(n.renewals), "never", "nor is it renewed")
		require.Empty(t, w.lost())
		require.Equal(t, 1, l.Held())
		w.Close(t.Context())
		require.Equal(t, []string{"granted"}, n.returned)
	})
}

func TestGivingBackIsTriedAgainUntilItsContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		var tries [][]string
		n.OnGiveBack = func(_ context.Context, gone []lease.Hold) []error {
			errs := make([]error, len(gone))
			var names []string
			for i, h := range gone {
				names = append(names, h.Name)
				if h.Name == "stuck" || len(tries) == 0 {
					errs[i] = errors.New("down")
				}
			}
			slices.Sort(names)
			tries = append(tries, names)
			return errs
		}
		w.Bind(&n.FakeKind, "stuck", ttl)
		w.Bind(&n.FakeKind, "free", ttl)
		start := time.Now()
		w.Close(context.Background())
		require.LessOrEqual(t, time.Since(start), lease.GiveBackTime)
		require.Equal(t, []string{"free", "stuck"}, tries[0])
		require.Equal(t, []string{"free", "stuck"}, tries[1])
		require.Equal(t, []string{"stuck"}, tries[2], "only what failed")
		require.Greater(t, len(tries), 4)

		w = open(l)
		w.Bind(&n.FakeKind, "stuck", ttl)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		w.Close(ctx)
		require.Equal(t, time.Second, time.Since(start).Round(100*time.Millisecond), "the caller's time bounds it")
	})
}

func TestStopGivesBackEverythingAndEndsTheRenewer(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n := newNoun()
		n.delay = time.Hour
		var sessions []*watch
		for i := range 3 {
			w := open(l)
			w.Bind(&n.FakeKind, fmt.Sprint(i), ttl)
			sessions = append(sessions, w)
		}
		time.Sleep(ttl / 3) // renewals hang
		synctest.Wait()
		l.Stop(t.Context())
		require.Equal(t, []string{"0", "1", "2"}, n.returned)
		for _, w := range sessions {
			require.Empty(t, w.lost())
			w.Close(t.Context())
		}
		late := open(l)
		require.False(t, late.Bind(&n.FakeKind, "late", ttl))
		late.Close(t.Context())
		require.Len(t, n.returned, 3)
	})
}

func TestStopWaitsForSessionsThatAreClosing(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n, w := newNoun(), open(l)
		begun, goOn := make(chan struct{}), make(chan struct{})
		n.OnGiveBack = func(_ context.Context, gone []lease.Hold) []error {
			close(begun)
			<-goOn
			return n.giveBack(t.Context(), gone)
		}
		w.Bind(&n.FakeKind, "a", ttl)
		go w.Close(t.Context())
		<-begun
		stopped := make(chan struct{})
		go func() { l.Stop(t.Context()); close(stopped) }()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Stop returned while a session was still giving back")
		default:
		}
		close(goOn)
		<-stopped
		require.Equal(t, []string{"a"}, n.returned)
	})
}

func TestSessionsHaveTheirOwnIDsAndNames(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		ids := make(map[string]bool)
		for range 1000 {
			ids[open(l).ID] = true
		}
		require.Len(t, ids, 1000)
		s := open(l)
		require.Equal(t, coord.Identity{Client: "test"}, s.Identity())
		s.Identify(coord.Identity{Client: "crawler", Instance: "pod-1"})
		require.Equal(t, coord.Identity{Client: "crawler", Instance: "pod-1"}, s.Identity())
	})
}

func TestLeasesAreSafeForConcurrentUse(t *testing.T) {
	bubble(t, func(t *testing.T, l *lease.Leases) {
		n := newNoun()
		n.delay = time.Millisecond
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				w := open(l)
				for i := range 200 {
					name := fmt.Sprint(g, "/", i%5)
					w.Bind(&n.FakeKind, name, 100*time.Millisecond+time.Duration(i)*time.Millisecond)
					time.Sleep(time.Duration(i) * time.Millisecond)
					l.ExtendFake(name, 150*time.Millisecond)
					if i%3 == 0 {
						l.ForgetFake(name)
					}
				}
				w.Close(t.Context())
				if len(w.lost()) > 0 {
					t.Errorf("lost %v", w.lost())
				}
			})
		}
		wg.Wait()
	})
}
