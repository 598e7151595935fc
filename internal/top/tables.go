package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
)

// tables returns the views of a look. Rates are since the previous look; if that is nil, since the
// start of the sidecar.
func tables(was *look.Look, is look.Look) []table {
	return []table{
		callsTable(was, is), limitsTable(was, is), keysTable(is), locksTable(is), poolsTable(is), breakersTable(is),
		queuesTable(is), streamsTable(is), troubleTable(is),
	}
}

// elapsed returns the seconds over which rates are computed.
func elapsed(was *look.Look, is look.Look) float64 {
	if was == nil {
		return max(float64(is.State.UptimeMS)/1000, 0.001)
	}
	return max(float64(is.State.UptimeMS-was.State.UptimeMS)/1000, 0.001)
}

// sameSidecar returns the previous look if it is of the same process, else nil.
func sameSidecar(was *look.Look, is look.Look) *look.Look {
	if was == nil || !is.SameSidecar(was) {
		return nil
	}
	return was
}

func callsTable(was *look.Look, is look.Look) table {
	t := table{name: "calls", order: 1, columns: []column{
		{"METHOD", 0}, {"PER S", 9}, {"MEAN", 8}, {"P50", 8}, {"P99", 8}, {"CALLS", 12}, {"ERRORS", 9},
	}}
	before := make(map[string]api.InspectTimes)
	if was != nil {
		for _, c := range was.State.Calls {
			before[c.Name] = c
		}
	}
	for _, c := range is.State.Calls {
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

func limitsTable(was *look.Look, is look.Look) table {
	t := table{name: "limits", order: 3, columns: []column{
		{"RULE", 0}, {"REFUSED/S", 9}, {"ALLOWED/S", 9}, {"REFUSED", 12}, {"ALLOWED", 12}, {"DEGRADED", 9}, {"LIMITS", 24},
	}}
	before := make(map[string]api.RuleStats)
	if was != nil {
		for _, d := range was.State.Decisions {
			before[d.Rule] = d
		}
	}
	for _, r := range is.Rules() {
		b, over := before[r.Name], elapsed(was, is)
		t.rows = append(t.rows, []any{
			r.Name, float64(r.Decided.Refused-b.Refused) / over, float64(r.Decided.Allowed-b.Allowed) / over,
			r.Decided.Refused, r.Decided.Allowed, r.Decided.Degraded, strings.Join(r.Limits, ", "),
		})
	}
	return t
}

func keysTable(is look.Look) table {
	t := table{name: "keys", order: 2, columns: []column{{"KEY", 0}, {"RULE", 24}, {"REFUSED", 12}, {"OFF BY", 8}, {"REASON", 12}}}
	for _, k := range is.State.Refusals.Keys {
		t.rows = append(t.rows, []any{k.Key, k.Rule, k.Refused, k.OffBy, k.Reason})
	}
	t.note = "refused since " + time.UnixMilli(is.State.Refusals.SinceAtMS).Format(time.TimeOnly)
	return t
}

func locksTable(is look.Look) table {
	t := table{name: "locks", order: 3, columns: []column{{"NAME", 0}, {"NOUN", 9}, {"HELD", 6}, {"WAITING", 7}, {"ENDS IN", 8}, {"HELD BY", 28}}}
	for _, l := range is.Locks.Rows {
		t.rows = append(t.rows, []any{l.Name, "lock", int64(1), l.Waiting, millis(l.TTLMS), holderText(l.HeldBy)})
	}
	for _, s := range is.Semaphores.Rows {
		by, left := "", time.Duration(-1)
		if len(s.Holders) > 0 {
			by, left = holderText(s.Holders[0].HeldBy), millis(s.Holders[0].TTLMS)
		}
		t.rows = append(t.rows, []any{s.Name, "semaphore", s.Held, s.Waiting, left, by})
	}
	t.note = cmp.Or(is.Locks.Note(is.At), is.Semaphores.Note(is.At))
	return t
}

func poolsTable(is look.Look) table {
	t := table{name: "pools", order: 3, note: is.Pools.Note(is.At), columns: []column{
		{"POOL", 0}, {"MEMBERS", 8}, {"FREE", 8}, {"LEASED", 8}, {"COOLING", 8}, {"BANNED", 8}, {"OPEN", 8}, {"LINES", 6},
	}}
	for _, p := range is.Pools.Rows {
		t.rows = append(t.rows, []any{p.Pool, p.Total, p.Free, p.Live, p.Cooling, p.Banned, p.Open, p.Lines})
	}
	return t
}

func breakersTable(is look.Look) table {
	t := table{name: "breakers", note: is.Breakers.Note(is.At), columns: []column{
		{"BREAKER", 0}, {"STATE", 13}, {"OPEN FOR", 8}, {"FAILURES", 8}, {"PROBES", 6}, {"OPENED", 6}, {"POLICY", 16},
	}}
	for _, b := range is.Breakers.Rows {
		t.rows = append(t.rows, []any{b.Name, b.State, millis(b.OpenForMS), b.Failures, b.Probes, b.Opened, b.Policy})
	}
	return t
}

func queuesTable(is look.Look) table {
	t := table{name: "queues", order: 1, note: is.Queues.Note(is.At), columns: []column{
		{"QUEUE", 0}, {"DEPTH", 10}, {"LEASED", 8}, {"WAITING", 8}, {"OLDEST", 9},
	}}
	for _, q := range is.Queues.Rows {
		t.rows = append(t.rows, []any{q.Queue, q.Depth, q.Leased, q.Waiting, millis(q.OldestMS)})
	}
	return t
}

// streamsTable has a row for each group, and one for a stream that has none.
func streamsTable(is look.Look) table {
	t := table{name: "streams", order: 3, note: is.Streams.Note(is.At), columns: []column{
		{"STREAM", 0}, {"GROUP", 20}, {"LENGTH", 10}, {"LAG", 9}, {"PENDING", 8}, {"OLDEST", 9}, {"DEAD", 7}, {"PODS", 5},
	}}
	for _, s := range is.Streams.Rows {
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
func troubleTable(is look.Look) table {
	t := table{name: "trouble", order: 1, columns: []column{{"WHAT", 0}, {"AGE", 9}, {"KIND", 11}, {"TOOK", 8}, {"OF", 30}}}
	age := func(ms int64) time.Duration { return is.At.Sub(time.UnixMilli(ms)).Truncate(time.Second) }
	add := func(what string, at int64, kind string, took time.Duration, of string) {
		t.rows = append(t.rows, []any{what, age(at), kind, took, of})
	}
	for _, e := range is.State.Errors {
		add(e.Code+": "+e.Text, e.AtMS, "error", -1, e.Method)
	}
	for _, c := range is.State.SlowCalls {
		add(c.Code, c.AtMS, "slow call", millis(c.DurationMS), c.Method)
	}
	for _, s := range is.State.SlowScripts {
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

// header describes the sidecar and its Redis in two lines.
func header(was *look.Look, is look.Look, width int) []string {
	s := is.State
	var calls int64
	for _, c := range s.Calls {
		calls += c.Count
	}
	if was != nil {
		for _, c := range was.State.Calls {
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
	second := fmt.Sprintf("redis %s %s %s  %s %s  %.1f MiB  pool %d/%d  sidecars %d", up, r.Topology, r.Address, shortDuration(micros(r.RTTUS)),
		sparkline(r.History, 20), float64(r.MemoryBytes)/(1<<20), r.Pool.Open, r.Pool.Max, len(is.Sidecars.Rows)+is.Sidecars.Left)
	if r.Trouble != "" {
		second += "  " + r.Trouble + ": " + r.Error
	}
	return []string{fitted(api.Printable(first), width, true), fitted(api.Printable(second), width, true)}
}

// sparkline draws the last round trips to Redis, the latest at the right, relative to the longest
// of them; an x is a second in which Redis was not up.
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
