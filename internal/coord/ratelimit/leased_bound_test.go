package ratelimit_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// mortal is a sidecar that can be killed: none of its timers runs after that.
type mortal struct {
	*ratelimit.Limiter
	rules *ratelimit.Rules
	dead  atomic.Bool
}

// mortals are sidecars that share one clock and one embedded store.
type mortals struct {
	clock  *conformance.Clock
	runner *lua.Runner
	pods   []*mortal

	mu            sync.Mutex    // guards what follows
	before, after time.Duration // how long the next script is on its way there and back
}

func newMortals(t *testing.T, n int, r api.Rule) *mortals {
	m := &mortals{clock: conformance.NewClock()}
	m.runner = luatest.Open(t, lua.Options{URL: redis.Embedded, Clock: m.script})
	for range n {
		m.pods = append(m.pods, m.birth(t, []api.Rule{r}, 1))
	}
	return m
}

// script returns the time that a script reads. If slow made the next script late, time passes before and after it;
// scripts that run in that time are not late themselves.
func (m *mortals) script() int64 {
	before, after := m.slow(0, 0)
	if before+after == 0 {
		return m.clock.Micros() // also for the return of a block, for which pass would wait
	}
	m.pass(before)
	now := m.clock.Micros()
	m.pass(after)
	return now
}

// slow sets how long the next script is on its way there and back, and returns the previous values.
func (m *mortals) slow(before, after time.Duration) (wasBefore, wasAfter time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wasBefore, wasAfter = m.before, m.after
	m.before, m.after = before, after
	return wasBefore, wasAfter
}

// pass lets time pass. A block that is returned in that time arrives at the instant at which it was sent.
func (m *mortals) pass(d time.Duration) {
	for end := m.clock.Now().Add(d); ; {
		next, ok := m.clock.Next()
		if !ok || next.After(end) {
			m.clock.Advance(end.Sub(m.clock.Now()))
			return
		}
		m.clock.Advance(next.Sub(m.clock.Now()))
		m.settle()
	}
}

// settle returns when no block is being returned.
func (m *mortals) settle() {
	for _, p := range m.pods {
		_ = p.Settled(context.Background()) // its error is that of the context
	}
}

func (m *mortals) birth(t require.TestingT, rules []api.Rule, revision int64) *mortal {
	x := &mortal{rules: ratelimit.NewRules()}
	require.NoError(t, x.rules.Set(rules, revision))
	x.Limiter = ratelimit.New(ratelimit.Options{
		Runner: m.runner, Keys: coord.NewKeys("p", ""), Rules: x.rules, Telemetry: telemetry.Nop(), Clock: mortalClock{m.clock, x},
	})
	return x
}

func (x *mortal) kill(t require.TestingT) {
	require.NoError(t, x.Settled(context.Background()), "what was sent before that arrives")
	x.dead.Store(true)
}

// mortalClock is the clock of one sidecar.
type mortalClock struct {
	*conformance.Clock
	of *mortal
}

func (c mortalClock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Clock.AfterFunc(d, func() {
		if !c.of.dead.Load() {
			f()
		}
	})
}

// letThrough is an admission.
type letThrough struct {
	at   time.Time
	cost int64
}

// TestLeasedModeKeepsToItsBound: sidecars that charge ahead, are slow, drain, are reloaded and are killed let through
// at most capacity + rate * (T + lease) in any interval T; in a fixed window they let through at most its limit.
func TestLeasedModeKeepsToItsBound(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		m, n, leased := newMortals(t, 0, api.Rule{}), 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			w := &leasedWorld{
				mortals: m, rt: rt, key: fmt.Sprint("k", n), revision: 1,
				rule: leasedRule("r", band(rapid.Int64Range(20, 200).Draw(rt, "limit"), 10*time.Second)),
			}
			w.rule.Algorithm = algorithm
			w.rule.Lease = &api.RuleLease{
				MaxSharePercent: rapid.Int64Range(10, 60).Draw(rt, "share"), TTLMS: rapid.Int64Range(100, 4000).Draw(rt, "ttl"),
			}
			w.ttl = millis(w.rule.Lease.TTLMS)
			m.pods = nil
			for range 3 {
				m.pods = append(m.pods, m.birth(rt, []api.Rule{w.rule}, 1))
			}
			rt.Repeat(map[string]func(*rapid.T){
				"call": w.call, "call more": w.call, "pass": w.idle, "late": w.late, "kill": w.kill, "drain": w.drain, "pause": w.pause, "reload": w.reload,
			})
			for _, p := range m.pods {
				p.kill(rt)
			}
			leased += w.leased
			w.check()
		})
		require.Positive(t, leased)
	})
}

// leasedWorld is one random history of a limit.
type leasedWorld struct {
	*mortals
	rt       *rapid.T
	rule     api.Rule
	ttl      time.Duration // the longest so far
	revision int64
	key      string
	log      []letThrough // not in order: a slow call is recorded after later ones
	leased   int
}

func (w *leasedWorld) pod(rt *rapid.T) int { return rapid.IntRange(0, len(w.pods)-1).Draw(rt, "pod") }

// call makes several calls, a moment apart.
func (w *leasedWorld) call(rt *rapid.T) {
	p := w.pods[w.pod(rt)]
	apart := time.Duration(rapid.Int64Range(0, 20).Draw(rt, "apart")) * time.Millisecond
	for range rapid.IntRange(1, 12).Draw(rt, "calls") {
		w.once(rt, p)
		w.pass(apart)
	}
}

func (w *leasedWorld) once(rt *rapid.T, p *mortal) {
	cost := rapid.Int64Range(1, 3).Draw(rt, "cost")
	began := w.clock.Now()
	d, err := p.Acquire(rt.Context(), coord.Caller{}, asks(byRule("r", w.key), cost))
	require.NoError(rt, err)
	switch {
	case !d.Allowed:
	case d.Source == coord.SourceLease:
		w.leased++
		w.log = append(w.log, letThrough{began, cost})
	default:
		g, err := ratelimit.GrantOf(d.Grant)
		require.NoError(rt, err)
		w.log = append(w.log, letThrough{time.UnixMicro(g.At), cost})
	}
}

func (w *leasedWorld) idle(rt *rapid.T) {
	w.pass(time.Duration(rapid.Int64Range(0, 3000).Draw(rt, "pass")) * time.Millisecond)
}

// late makes one call whose script is slow on its way there and back.
func (w *leasedWorld) late(rt *rapid.T) {
	w.settle() // the next script is the call's
	w.slow(
		time.Duration(rapid.Int64Range(0, 2000).Draw(rt, "there"))*time.Millisecond,
		time.Duration(rapid.Int64Range(0, 4000).Draw(rt, "back"))*time.Millisecond,
	)
	w.once(rt, w.pods[w.pod(rt)])
	w.slow(0, 0)
}

func (w *leasedWorld) kill(rt *rapid.T) {
	i := w.pod(rt)
	w.pods[i].kill(rt)
	w.pods[i] = w.birth(rt, []api.Rule{w.rule}, w.revision)
}

func (w *leasedWorld) drain(rt *rapid.T) {
	i := w.pod(rt)
	require.NoError(rt, w.pods[i].Stop(context.Background()))
	w.pods[i] = w.birth(rt, []api.Rule{w.rule}, w.revision)
}

// pause pauses the key, for less time than other sidecars, which receive no broadcast, have to notice it.
func (w *leasedWorld) pause(rt *rapid.T) {
	p := w.pods[w.pod(rt)]
	_, err := p.Pause(rt.Context(), coord.Caller{}, &api.RatelimitPauseParams{Rule: "r", Key: w.key, ForMS: 1 + rapid.Int64Range(0, 500).Draw(rt, "for")})
	require.NoError(rt, err)
	w.settle()
}

// reload changes only the lease: with other limits the bound would be another one.
func (w *leasedWorld) reload(rt *rapid.T) {
	w.revision++
	w.rule.Lease = &api.RuleLease{MaxSharePercent: w.rule.Lease.MaxSharePercent, TTLMS: rapid.Int64Range(100, 4000).Draw(rt, "new ttl")}
	w.ttl = max(w.ttl, millis(w.rule.Lease.TTLMS))
	require.NoError(rt, w.pods[w.pod(rt)].rules.Set([]api.Rule{w.rule}, w.revision))
	w.settle()
}

func (w *leasedWorld) check() {
	limit, period := w.rule.Limits[0].Limit, millis(w.rule.Limits[0].PeriodMS)
	if w.rule.Algorithm == "fixed_window" {
		windows := map[int64]int64{}
		for _, x := range w.log {
			windows[x.at.UnixMicro()/period.Microseconds()] += x.cost
		}
		for start, sum := range windows {
			require.LessOrEqual(w.rt, sum, limit, "window %d", start)
		}
		return
	}
	slices.SortFunc(w.log, func(a, b letThrough) int { return a.at.Compare(b.at) })
	for i := range w.log {
		sum := int64(0)
		for _, x := range w.log[i:] {
			sum += x.cost
			length := x.at.Sub(w.log[i].at) + w.ttl
			most := float64(limit) + float64(limit)*length.Seconds()/period.Seconds()
			require.LessOrEqual(w.rt, float64(sum), most+1e-6, "from %s to %s", w.log[i].at, x.at)
		}
	}
}

// held is a block of which a part is returned later.
type held struct {
	unused, at int64
	back       int64 // when it is returned
}

// TestAReturnedBlockIsAsIfItHadNotBeenCharged compares a limit whose blocks are returned in part with one that is
// charged only the served part of each block. The second must admit everything that the first admits, so that a
// returned block never lets through more than the limit.
func TestAReturnedBlockIsAsIfItHadNotBeenCharged(t *testing.T) {
	everyLeased(t, func(t *testing.T, algorithm string) {
		luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
			n, credited := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				n++
				r := modelRule{{limit: rapid.Int64Range(1, 40).Draw(rt, "limit"), periodMS: 1000}}
				if rapid.Bool().Draw(rt, "two bands") {
					r = append(r, modelRule{{limit: rapid.Int64Range(1, 90).Draw(rt, "limit"), periodMS: 7000}}...)
				}
				for i := range r {
					r[i].burst = r[i].limit
				}
				leased, asIf := s.Key(fmt.Sprintf("%d real", n)), s.Key(fmt.Sprintf("%d as if", n))
				now, out := luatest.Epoch, []held(nil)
				for range rapid.IntRange(1, 40).Draw(rt, "steps") {
					now += rapid.SampledFrom([]int64{0, 0, 1, 100_000, 900_000}).Draw(rt, "pass")
					switch due := dueOf(out, now); {
					case due >= 0:
						x := out[due]
						out = append(out[:due], out[due+1:]...)
						if luatest.Call(rt, s, ratelimit.ReturnScript, now, ratelimit.ReturnIn{State: leased, Algorithm: algorithm, Unused: x.unused, AtUS: x.at}) {
							credited++
						}
					default:
						cost := rapid.Int64Range(1, 4).Draw(rt, "cost")
						block := ratelimit.Block{Cost: cost, Most: cost + rapid.SampledFrom([]int64{0, 5, 100}).Draw(rt, "ahead"), Revision: 1, Signature: signature(r.bands())}
						if i := rapid.IntRange(-1, len(out)-1).Draw(rt, "with"); i >= 0 {
							block.Unused, block.AtUS = out[i].unused, out[i].at
							out = append(out[:i], out[i+1:]...)
						}
						got := luatest.Call(rt, s, ratelimit.LeaseScript(algorithm), now, ratelimit.LeaseIn{State: leased, Pace: leased + "pace", Block: block})
						if got.Returned {
							credited++
						}
						if got.Taken == 0 {
							continue
						}
						unused := (got.Taken - cost) * rapid.SampledFrom([]int64{0, 1, 2}).Draw(rt, "halves unused") / 2
						if unused > 0 {
							out = append(out, held{unused, got.NowUS, now + rapid.SampledFrom([]int64{0, 500_000, 2_000_000}).Draw(rt, "out for")})
						}
						served := ask{algorithm: algorithm, rule: r, revision: 1, cost: got.Taken - unused}.runBands(rt, s, now, asIf)
						require.True(rt, served.Admitted(), "%d of %d: %+v", got.Taken-unused, got.Taken, served)
					}
				}
				s.Clear(rt, fmt.Sprintf("%d ", n))
			})
			require.Positive(t, credited)
		})
	})
}

// dueOf returns the index of the first block that is to be returned by now, or -1.
func dueOf(out []held, now int64) int {
	for i, x := range out {
		if x.back <= now {
			return i
		}
	}
	return -1
}
