package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// topPage is how many names of a noun are asked for: one page, so that a look costs Redis the same however many there are.
const topPage = 200

// topSample has all that sidecar top asked for at one moment.
type topSample struct {
	at    time.Time
	state api.InspectResult

	locks      topList[api.LockListResult]
	semaphores topList[api.SemaphoreListResult]
	pools      topList[api.PoolPoolsResult]
	breakers   topList[api.BreakerListResult]
	queues     topList[api.QueueListResult]
	streams    topList[api.StreamListResult]
}

// topList is a page of names, or the error in its place: without Redis the rest is shown all the same.
type topList[R any] struct {
	page R
	err  error
}

// takeSample asks a sidecar for all that is shown.
func takeSample(ctx context.Context, c *client.Client) (s topSample, err error) {
	if s.state, err = c.InspectSnapshot(ctx); err != nil {
		return s, err
	}
	s.at = time.Now()
	listOf(ctx, c, &s.locks, api.LockList, api.LockListParams{Count: topPage})
	listOf(ctx, c, &s.semaphores, api.SemaphoreList, api.SemaphoreListParams{Count: topPage})
	listOf(ctx, c, &s.pools, api.PoolPools, api.PoolPoolsParams{Count: topPage})
	listOf(ctx, c, &s.breakers, api.BreakerList, api.BreakerListParams{Count: topPage})
	listOf(ctx, c, &s.queues, api.QueueList, api.QueueListParams{Count: topPage})
	listOf(ctx, c, &s.streams, api.StreamList, api.StreamListParams{Count: topPage})
	return s, ctx.Err()
}

func listOf[P, R any](ctx context.Context, c *client.Client, to *topList[R], m api.Method[P, R], p P) {
	to.page, to.err = client.Call(ctx, c, m, p)
}

// note says why a page is not all.
func (l topList[R]) note(cursor string) string {
	var reply *api.Error
	switch {
	case errors.As(l.err, &reply):
		return reply.Error()
	case l.err != nil:
		return l.err.Error()
	case cursor != "":
		return "... there are more; the command list of the noun shows all"
	default:
		return ""
	}
}

// topTables are the views of a sample. Rates are since the sample before, or since the
// start of the sidecar where there is none, or of another sidecar.
func topTables(was *topSample, is topSample) []topTable {
	return []topTable{
		callsTable(was, is), limitsTable(was, is), keysTable(is), locksTable(is), poolsTable(is), breakersTable(is),
		queuesTable(is), streamsTable(is), troubleTable(is),
	}
}

// elapsed is the time, in seconds, over which rates are taken.
func elapsed(was *topSample, is topSample) float64 {
	if was == nil {
		return max(float64(is.state.UptimeMS)/1000, 0.001)
	}
	return max(float64(is.state.UptimeMS-was.state.UptimeMS)/1000, 0.001)
}

// sameSidecar returns the sample before if it is of the same process, else nil.
func sameSidecar(was *topSample, is topSample) *topSample {
	if was == nil || was.state.PID != is.state.PID || was.state.StartedAtMS != is.state.StartedAtMS {
		return nil
	}
	return was
}

func callsTable(was *topSample, is topSample) topTable {
	t := topTable{name: "calls", order: 1, columns: []topColumn{
		{"METHOD", 0}, {"PER S", 9}, {"MEAN", 8}, {"P50", 8}, {"P99", 8}, {"CALLS", 12}, {"ERRORS", 9},
	}}
	before := make(map[string]api.InspectTimes)
	if was != nil {
		for _, c := range was.state.Calls {
			before[c.Name] = c
		}
	}
	for _, c := range is.state.Calls {
		b := before[c.Name]
		n := c.Count - b.Count
		mean := time.Duration(-1)
		if n > 0 {
			mean = micros((c.SumUS - b.SumUS) / n)
		}
		t.rows = append(t.rows, []any{c.Name, float64(n) / elapsed(was, is), mean, micros(c.P50US), micros(c.P99US), c.Count, c.Errors})
	}
	return t
}

func limitsTable(was *topSample, is topSample) topTable {
	t := topTable{name: "limits", order: 3, columns: []topColumn{
		{"RULE", 0}, {"REFUSED/S", 9}, {"ALLOWED/S", 9}, {"REFUSED", 12}, {"ALLOWED", 12}, {"DEGRADED", 9}, {"LIMITS", 24},
	}}
	before := make(map[string]api.RuleStats)
	if was != nil {
		for _, d := range was.state.Decisions {
			before[d.Rule] = d
		}
	}
	limits := make(map[string]string)
	decided := make(map[string]bool)
	for _, r := range is.state.Rules {
		for i, l := range r.Limits {
			if i > 0 {
				limits[r.Name] += ", "
			}
			limits[r.Name] += l
		}
	}
	for _, d := range is.state.Decisions {
		b, over := before[d.Rule], elapsed(was, is)
		decided[d.Rule] = true
		t.rows = append(t.rows, []any{
			d.Rule, float64(d.Refused-b.Refused) / over, float64(d.Allowed-b.Allowed) / over, d.Refused, d.Allowed, d.Degraded, limits[d.Rule],
		})
	}
	for _, r := range is.state.Rules {
		if !decided[r.Name] {
			t.rows = append(t.rows, []any{r.Name, 0.0, 0.0, int64(0), int64(0), int64(0), limits[r.Name]})
		}
	}
	return t
}

func keysTable(is topSample) topTable {
	t := topTable{name: "keys", order: 2, columns: []topColumn{{"KEY", 0}, {"RULE", 24}, {"REFUSED", 12}, {"OFF BY", 8}, {"REASON", 12}}}
	for _, k := range is.state.Refusals.Keys {
		t.rows = append(t.rows, []any{k.Key, k.Rule, k.Refused, k.OffBy, k.Reason})
	}
	t.note = "refused since " + time.UnixMilli(is.state.Refusals.SinceAtMS).Format(time.TimeOnly)
	return t
}

func locksTable(is topSample) topTable {
	t := topTable{name: "locks", order: 3, columns: []topColumn{{"NAME", 0}, {"NOUN", 9}, {"HELD", 6}, {"WAITING", 7}, {"ENDS IN", 8}, {"HELD BY", 28}}}
	for _, l := range is.locks.page.Locks {
		t.rows = append(t.rows, []any{l.Name, "lock", int64(1), l.Waiting, millis(l.TTLMS), holderText(l.HeldBy)})
	}
	for _, s := range is.semaphores.page.Semaphores {
		by, left := "", time.Duration(-1)
		if len(s.Holders) > 0 {
			by, left = holderText(s.Holders[0].HeldBy), millis(s.Holders[0].TTLMS)
		}
		t.rows = append(t.rows, []any{s.Name, "semaphore", s.Held, s.Waiting, left, by})
	}
	t.note = is.locks.note(is.locks.page.Cursor)
	if t.note == "" {
		t.note = is.semaphores.note(is.semaphores.page.Cursor)
	}
	return t
}

func poolsTable(is topSample) topTable {
	t := topTable{name: "pools", order: 3, note: is.pools.note(is.pools.page.Cursor), columns: []topColumn{
		{"POOL", 0}, {"MEMBERS", 8}, {"FREE", 8}, {"LEASED", 8}, {"COOLING", 8}, {"BANNED", 8}, {"OPEN", 8}, {"LINES", 6},
	}}
	for _, p := range is.pools.page.Pools {
		t.rows = append(t.rows, []any{p.Pool, p.Total, p.Free, p.Live, p.Cooling, p.Banned, p.Open, p.Lines})
	}
	return t
}

func breakersTable(is topSample) topTable {
	t := topTable{name: "breakers", note: is.breakers.note(is.breakers.page.Cursor), columns: []topColumn{
		{"BREAKER", 0}, {"STATE", 13}, {"OPEN FOR", 8}, {"FAILURES", 8}, {"PROBES", 6}, {"OPENED", 6}, {"POLICY", 16},
	}}
	for _, b := range is.breakers.page.Breakers {
		t.rows = append(t.rows, []any{b.Name, b.State, millis(b.OpenForMS), b.Failures, b.Probes, b.Opened, b.Policy})
	}
	return t
}

func queuesTable(is topSample) topTable {
	t := topTable{name: "queues", order: 1, note: is.queues.note(is.queues.page.Cursor), columns: []topColumn{
		{"QUEUE", 0}, {"DEPTH", 10}, {"LEASED", 8}, {"WAITING", 8}, {"OLDEST", 9},
	}}
	for _, q := range is.queues.page.Queues {
		t.rows = append(t.rows, []any{q.Queue, q.Depth, q.Leased, q.Waiting, millis(q.OldestMS)})
	}
	return t
}

// streamsTable has a row for each group, and one for a stream that has none.
func streamsTable(is topSample) topTable {
	t := topTable{name: "streams", order: 3, note: is.streams.note(is.streams.page.Cursor), columns: []topColumn{
		{"STREAM", 0}, {"GROUP", 20}, {"LENGTH", 10}, {"LAG", 9}, {"PENDING", 8}, {"OLDEST", 9}, {"DEAD", 7}, {"PODS", 5},
	}}
	for _, s := range is.streams.page.Streams {
		for _, g := range s.Groups {
			t.rows = append(t.rows, []any{s.Stream, g.Group, s.Length, g.Lag, g.Pending, millis(g.OldestPendingMS), s.Dead, g.Consumers})
		}
		if len(s.Groups) == 0 {
			t.rows = append(t.rows, []any{s.Stream, "", s.Length, int64(0), int64(0), time.Duration(0), s.Dead, int64(0)})
		}
	}
	return t
}

// troubleTable has the last errors, slow calls and slow scripts, the latest first.
func troubleTable(is topSample) topTable {
	t := topTable{name: "trouble", order: 1, columns: []topColumn{{"WHAT", 0}, {"AGE", 9}, {"KIND", 11}, {"TOOK", 8}, {"OF", 30}}}
	age := func(ms int64) time.Duration { return is.at.Sub(time.UnixMilli(ms)).Truncate(time.Second) }
	add := func(what string, at int64, kind string, took time.Duration, of string) {
		t.rows = append(t.rows, []any{what, age(at), kind, took, of})
	}
	for _, e := range is.state.Errors {
		add(e.Code+": "+e.Text, e.AtMS, "error", -1, e.Method)
	}
	for _, c := range is.state.SlowCalls {
		add(c.Code, c.AtMS, "slow call", millis(c.DurationMS), c.Method)
	}
	for _, s := range is.state.SlowScripts {
		add(s.Outcome, s.AtMS, "slow script", millis(s.DurationMS), s.Script)
	}
	slices.SortStableFunc(t.rows, func(a, b []any) int { return -compareCells(a[1], b[1]) })
	return t
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func holderText(h *api.Holder) string {
	if h == nil {
		return ""
	}
	return h.Client + " " + h.Instance
}

// topHeader describes the sidecar and its Redis in two lines.
func topHeader(was *topSample, is topSample, width int) []string {
	s := is.state
	var calls int64
	for _, c := range s.Calls {
		calls += c.Count
	}
	if was != nil {
		for _, c := range was.state.Calls {
			calls -= c.Count
		}
	}
	first := fmt.Sprintf("sidecar %s  pid %d  up %s  %.1f calls/s  connections %d  waiting %d  held %d", s.Version, s.PID,
		shortDuration(millis(s.UptimeMS).Truncate(time.Second)), float64(calls)/elapsed(was, is), s.Counts.Connections, s.Counts.Waiting, s.Counts.Held)
	if s.Draining {
		first += "  DRAINING"
	}
	r := s.Redis
	up := "up"
	if !r.Up {
		up = "DOWN"
	}
	second := fmt.Sprintf("redis %s %s %s  %s %s  %.1f MiB  pool %d/%d",
		up, r.Topology, r.Address, shortDuration(micros(r.RTTUS)), sparkline(r.History, 20), float64(r.MemoryBytes)/(1<<20), r.Pool.Open, r.Pool.Max)
	if r.Trouble != "" {
		second += "  " + r.Trouble + ": " + r.Error
	}
	return []string{fitted(api.Printable(first), width, true), fitted(api.Printable(second), width, true)}
}

// sparkline draws the last round trips to Redis, the latest at its right, up to the longest
// of them; an x is a second in which it was not up.
func sparkline(history []api.InspectProbe, most int) string {
	history = history[:min(len(history), most)]
	var top int64 = 1
	for _, p := range history {
		top = max(top, p.RTTUS)
	}
	const levels = "▁▂▃▄▅▆▇█"
	line := make([]rune, 0, len(history))
	for _, p := range slices.Backward(history) {
		if !p.Up {
			line = append(line, 'x')
			continue
		}
		line = append(line, []rune(levels)[p.RTTUS*7/top])
	}
	return string(line)
}
