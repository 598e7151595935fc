package status

import (
	"cmp"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
)

// document returns the data of the page: values of the contract by their names on the wire, with all text printable.
func (p *Page) document(is look.Look, health api.HealthResult) any {
	spans := p.rates.until(sampleOf(is.At, &is.State))
	state := object(is.State)
	for _, name := range []string{"config", "rules", "decisions", "calls", "scripts"} {
		delete(state, name) // config.yaml has the configuration, and the others are sent with their rates
	}
	return printable(map[string]any{
		"at_ms":  is.At.UnixMilli(),
		"health": api.AsWire(health),
		"state":  state,
		"rate":   spans.ofCalls(),
		"calls":  calls(is, spans),
		"rules":  rules(is, spans),
		"lists": map[string]any{
			"locks": listed(is, is.Locks), "semaphores": listed(is, is.Semaphores), "pools": listed(is, is.Pools), "breakers": listed(is, is.Breakers),
			"queues": listed(is, is.Queues), "streams": listed(is, is.Streams), "sidecars": listed(is, is.Sidecars),
		},
	})
}

// table returns the rows of a table, how many more rows there are, and a note about them.
func table(rows []any, left int, note string) map[string]any {
	return map[string]any{"rows": rows, "left": left, "note": note}
}

// calls returns the methods, sorted by their calls per second now.
func calls(is look.Look, over spans) map[string]any {
	rate := make(map[string]float64, len(is.State.Calls))
	for _, c := range is.State.Calls {
		rate[c.Name] = over.ofMethod(c.Name)
	}
	all := slices.SortedStableFunc(slices.Values(is.State.Calls), func(a, b api.InspectTimes) int {
		return cmp.Or(cmp.Compare(rate[b.Name], rate[a.Name]), cmp.Compare(b.Count, a.Count))
	})
	all, left := firstOf(all)
	rows := make([]any, len(all))
	for i, c := range all {
		rows[i] = with(c, map[string]any{"rate": rate[c.Name]})
	}
	return table(rows, left, "")
}

// rules returns the rules that refuse most now, then those that allow most, with their rates of the last minutes.
func rules(is look.Look, over spans) map[string]any {
	type moving struct {
		look.Rule
		allowed, refused []float64
	}
	now := func(series []float64) float64 {
		if len(series) == 0 {
			return 0
		}
		return series[len(series)-1]
	}
	var all []moving
	for _, r := range is.Rules() {
		allowed, refused := over.ofRule(r.Name)
		all = append(all, moving{r, allowed, refused})
	}
	slices.SortStableFunc(all, func(a, b moving) int {
		return cmp.Or(cmp.Compare(now(b.refused), now(a.refused)), cmp.Compare(now(b.allowed), now(a.allowed)),
			cmp.Compare(b.Decided.Refused, a.Decided.Refused), cmp.Compare(b.Decided.Allowed, a.Decided.Allowed))
	})
	all, left := firstOf(all)
	rows := make([]any, len(all))
	for i, r := range all {
		rows[i] = with(r.InspectRule, map[string]any{"decided": api.AsWire(r.Decided), "allowed": r.allowed, "refused": r.refused})
	}
	return table(rows, left+int(is.State.TruncatedRules), "")
}

// listed returns a list as a table, with its note.
func listed[E any](is look.Look, l look.List[E]) map[string]any {
	some, left := firstOf(l.Rows)
	rows := make([]any, len(some))
	for i := range some {
		rows[i] = api.AsWire(some[i])
	}
	if l.Left > 0 {
		left = 0 // the note has this number
	}
	return table(rows, left, l.Note(is.At))
}

func firstOf[E any](all []E) (shown []E, left int) {
	n := min(len(all), maxShown)
	return all[:n], len(all) - n
}

func object(v any) map[string]any { m, _ := api.AsWire(v).(map[string]any); return m }

// with returns a value of the contract with additional fields.
func with(v any, more map[string]any) map[string]any {
	m := object(v)
	for name, x := range more {
		m[name] = x
	}
	return m
}

// printable escapes control characters, marks that change the direction of text, and invalid UTF-8 in names that users
// chose.
func printable(v any) any {
	switch v := v.(type) {
	case string:
		return api.Printable(v)
	case []any:
		for i := range v {
			v[i] = printable(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = printable(v[name])
		}
	}
	return v
}
