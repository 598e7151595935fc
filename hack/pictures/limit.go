package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Every plot has the same limit and the same axes, so that they can be compared.
const (
	plotPeriod = 10.0 // s
	plotLimit  = 10
	plotEnd    = 40.0 // s
	plotMost   = 20   // in one period; twice the limit, which no algorithm exceeds
)

// admission is one line of what `sidecar rules simulate -o json` prints.
type admission struct {
	AtMS    *float64 `json:"at_ms"` // nil in the last line, which has the totals
	Rule    string   `json:"rule"`
	Allowed any      `json:"allowed"` // a bool; in the last line the number of allowed calls
}

func admissions(text string) ([]admission, error) {
	var all []admission
	for lines := json.NewDecoder(strings.NewReader(text)); ; {
		var a admission
		switch err := lines.Decode(&a); {
		case errors.Is(err, io.EOF):
			if len(all) == 0 {
				return nil, errors.New("it has no calls; use the output of sidecar rules simulate -o json")
			}
			return all, nil
		case err != nil:
			return nil, err
		case a.AtMS != nil:
			all = append(all, a)
		}
	}
}

// inPeriod returns how many of the sorted admissions are in the period (at - period, at], for each instant at at which
// that number changes.
func inPeriod(admitted []float64) (at []float64, count []int) {
	changes := slices.Clone(admitted)
	for _, a := range admitted {
		changes = append(changes, a+plotPeriod)
	}
	slices.Sort(changes)
	for _, c := range slices.Compact(changes) {
		n := 0
		for _, a := range admitted {
			if a <= c && a > c-plotPeriod {
				n++
			}
		}
		at, count = append(at, c), append(count, n)
	}
	return at, count
}

// limit draws the calls of a simulation, and how many were admitted in the last period.
func limit(text string) (string, error) {
	calls, err := admissions(text)
	if err != nil {
		return "", err
	}
	d := &drawing{width: 760, height: 218}
	const left, right, top, bottom, strip = 46, 744, 74, 182, 44
	x := func(at float64) float64 { return left + (right-left)*at/plotEnd }
	y := func(n int) float64 { return bottom - (bottom-top)*float64(n)/plotMost }

	var admitted []float64
	for _, c := range calls {
		at := *c.AtMS / 1000
		if allowed, _ := c.Allowed.(bool); allowed {
			admitted = append(admitted, at)
			d.line("yes", x(at), strip-7, x(at), strip+7)
		} else {
			d.line("no", x(at), strip+2, x(at), strip+7)
		}
	}
	at, count := inPeriod(admitted)
	most := slices.Max(count)
	d.text("title", "start", left, 18, calls[0].Rule)
	d.text("small muted", "end", right, 18,
		fmt.Sprintf("%d of %d calls admitted (long), %d refused (short); most in any 10 s: %d", len(admitted), len(calls), len(calls)-len(admitted), most))

	for s := 0.0; s <= plotEnd; s += plotPeriod / 2 {
		if math.Mod(s, plotPeriod) == 0 {
			d.line("grid", x(s), top, x(s), bottom)
			d.text("small muted", "middle", x(s), bottom+17, fmt.Sprintf("%.0f s", s))
		}
	}
	for _, n := range []int{0, plotLimit, plotMost} {
		d.text("small muted", "end", left-7, y(n)+4, fmt.Sprint(n))
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.1f", x(0), y(0))
	last := 0
	for i, a := range at {
		if a > plotEnd {
			break
		}
		fmt.Fprintf(&path, "H%.1fV%.1f", x(a), y(count[i]))
		last = count[i]
	}
	fmt.Fprintf(&path, "H%.1f", x(plotEnd))
	if last != 0 {
		fmt.Fprintf(&path, "V%.1f", y(0))
	}
	d.add(`<path class="area" d="%sZ"/>`, path.String())
	d.line("axis", left, bottom, right, bottom)
	d.line("bound", left, y(plotLimit), right, y(plotLimit))
	d.text("small muted", "start", left, bottom+34, "admitted in the 10 s before; dashed: the limit, 10 per 10 s")
	return d.whole(fmt.Sprintf("%s: admissions over time under a limit of %d per %.0f s", calls[0].Rule, plotLimit, plotPeriod)), nil
}
