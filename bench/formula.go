package main

import (
	"fmt"
	"math"
	"slices"
)

// formula computes a figure from the loads that it needs, within one round.
type formula struct {
	loads []string
	of    func(samples []sample) float64 // one for each of the loads
}

type field func(sample) float64

func plainly(f field, load string) formula {
	return formula{[]string{load}, func(s []sample) float64 { return f(s[0]) }}
}

func over(f field, load, peer string) formula {
	return formula{[]string{load, peer}, func(s []sample) float64 { return f(s[0]) / f(s[1]) }}
}

func percent(f field, load, peer string) formula {
	return formula{[]string{load, peer}, func(s []sample) float64 { return 100 * f(s[0]) / f(s[1]) }}
}

// flat is the rate of the slowest load divided by that of the fastest.
func flat(over series) formula {
	return formula{over.loads(), func(s []sample) float64 {
		slowest, fastest := math.Inf(1), 0.0
		for _, x := range s {
			slowest, fastest = min(slowest, x.rate), max(fastest, x.rate)
		}
		return slowest / fastest
	}}
}

// values returns the values of each round, or why there are none.
func (f formula) values(r *results) (values []float64, missing string) {
	rounds := math.MaxInt
	for _, l := range f.loads {
		if why, ok := r.missing[l]; ok {
			return nil, why
		}
		rounds = min(rounds, len(r.samples[l]))
	}
	if rounds == 0 {
		return nil, "the run ended before"
	}
	for i := range rounds {
		var at []sample
		for _, l := range f.loads {
			at = append(at, r.samples[l][i])
		}
		values = append(values, f.of(at))
	}
	return values, ""
}

// goal is what a figure has to reach.
type goal struct {
	unit  string
	lower bool // a lower figure is better
	limit float64
	// If times is not 0, the goal is times the base's value, instead of limit.
	times float64
	none  bool // there is no goal: the figure is reported only
}

func atLeast(limit float64, unit string) goal { return goal{unit: unit, limit: limit} }
func atMost(limit float64, unit string) goal  { return goal{unit: unit, limit: limit, lower: true} }
func reported(unit string) goal               { return goal{unit: unit, lower: true, none: true} }

var twiceTheBase = goal{unit: "pairs/s", times: 2}

func (g goal) String() string {
	switch {
	case g.none:
		return "reported"
	case g.times != 0:
		return fmt.Sprintf(">= %v x the base", g.times)
	case g.lower:
		return fmt.Sprintf("<= %v %s", g.limit, g.unit)
	default:
		return fmt.Sprintf(">= %v %s", g.limit, g.unit)
	}
}

// verdict returns the text of whether a figure reached its goal; base is NaN if there is none.
func (g goal) verdict(v, base float64) string {
	limit := g.limit
	if g.times != 0 {
		limit = g.times * base
	}
	switch {
	case g.none:
		return "reported"
	case math.IsNaN(limit):
		return "needs BASE"
	case g.lower && v <= limit, !g.lower && v >= limit:
		return "yes"
	default:
		return "no"
	}
}

// fell reports whether a figure is more than a tenth worse than the base, by their ratio.
func (g goal) fell(ratio float64) bool {
	if g.lower {
		return ratio > 1.1
	}
	return ratio < 0.9
}

// chosen returns the figures with those ids, all figures for no ids, and the names of the loads
// that they need.
func chosen(ids []string) (fs []figure, needed map[string]bool, err error) {
	needed = map[string]bool{}
	for _, id := range ids {
		if !slices.ContainsFunc(figures, func(f figure) bool { return f.id == id }) {
			return nil, nil, fmt.Errorf("there is no figure %s; they are P1 to %s", id, figures[len(figures)-1].id)
		}
	}
	for _, f := range figures {
		if len(ids) > 0 && !slices.Contains(ids, f.id) {
			continue
		}
		fs = append(fs, f)
		for _, l := range f.loads {
			needed[l] = true
		}
	}
	return fs, needed, nil
}
