package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
)

// line is one figure with its values.
type line struct {
	figure
	value   float64
	base    float64 // NaN for none
	ratio   float64 // the median over the rounds of the new sidecar's value divided by the base's; NaN for none
	missing string  // why there is no value
}

// lines returns all figures of a run with their values.
func (out *outcome) lines() []line {
	var all []line
	for _, f := range out.figures {
		l := line{figure: f, base: math.NaN(), ratio: math.NaN()}
		values, missing := f.values(out.of(0))
		if missing != "" {
			l.missing = missing
			all = append(all, l)
			continue
		}
		l.value = median(values)
		if len(out.sides) > 1 {
			if before, missing := f.values(out.of(1)); missing == "" {
				l.base = median(before)
				var ratios []float64
				for i := range min(len(values), len(before)) {
					ratios = append(ratios, values[i]/before[i])
				}
				l.ratio = median(ratios)
			}
		}
		all = append(all, l)
	}
	return all
}

func (l line) row(withBase bool) []string {
	v, verdict := l.show(l.value), l.goal.verdict(l.value, l.base)
	if l.missing != "" {
		v, verdict = "not measured: "+l.missing, ""
	}
	row := []string{l.id, l.what, v}
	if withBase {
		base, ratio := "", ""
		if !math.IsNaN(l.base) {
			base, ratio = l.show(l.base), fmt.Sprintf("%.2f", l.ratio)
		}
		row = append(row, base, ratio)
	}
	return append(row, l.goal.String(), verdict)
}

func (l line) show(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f %s", v, l.goal.unit)
	}
	return fmt.Sprintf("%.3g %s", v, l.goal.unit)
}

func figureHead(withBase bool) []string {
	if withBase {
		return []string{"#", "figure", "new", "base", "new/base", "goal", "reached"}
	}
	return []string{"#", "figure", "value", "goal", "reached"}
}

// table returns the head and the rows of the table of figures.
func (out *outcome) table() (head []string, rows [][]string) {
	withBase := len(out.sides) > 1
	for _, l := range out.lines() {
		rows = append(rows, l.row(withBase))
	}
	return figureHead(withBase), rows
}

// falls lists the figures that are more than a tenth worse than the base's; nil without a base.
func (out *outcome) falls() []string {
	if len(out.sides) < 2 {
		return nil
	}
	lines := []string{fmt.Sprintf("Figures that are more than 10 %% worse than those of %s: none.", out.baseName)}
	for _, l := range out.lines() {
		if l.goal.fell(l.ratio) {
			lines[0] = fmt.Sprintf("Figures that are more than 10 %% worse than those of %s:", out.baseName)
			lines = append(lines, fmt.Sprintf("- %s %s: from %s to %s, %.2f x", l.id, l.what, l.show(l.base), l.show(l.value), l.ratio))
		}
	}
	return lines
}

var loadHead = []string{"load, callers", "calls/s", "p50 us", "p99 us", "CPU us/call", "Redis CPU us/call", "value"}

// loadRow is the row of one load: the medians of its samples.
func loadRow(name string, samples []sample) []string {
	show := func(f field, format string) string {
		var values []float64
		for _, s := range samples {
			values = append(values, f(s))
		}
		v := median(values)
		if v == 0 {
			return ""
		}
		return fmt.Sprintf(format, v)
	}
	return []string{name, show(rate, "%.0f"), show(p50, "%.0f"), show(p99, "%.0f"), show(cpu, "%.1f"), show(redis, "%.1f"), show(value, "%.3g")}
}

// loadRows returns the rows of all loads of all sides.
func (out *outcome) loadRows() (rows [][]string) {
	for _, l := range out.loads {
		if s := out.peers.samples[l.name]; len(s) > 0 {
			rows = append(rows, loadRow(l.name, s))
		}
		for i, r := range out.sides {
			if s := r.samples[l.name]; len(s) > 0 {
				rows = append(rows, loadRow([]string{"", "base: "}[i]+l.name, s))
			}
		}
	}
	return rows
}

// report prints the tables, and writes the page and the plot if a folder is given and all figures were measured.
func (out *outcome) report() error {
	if err := out.print(); err != nil || out.options.out == "" || !out.everyLoad {
		return err
	}
	return out.write()
}

func (out *outcome) print() error {
	if err := printTable(os.Stdout, loadHead, out.loadRows()); err != nil {
		return err
	}
	fmt.Println()
	head, rows := out.table()
	if err := printTable(os.Stdout, head, rows); err != nil {
		return err
	}
	if lines := out.falls(); lines != nil {
		fmt.Println("\n" + strings.Join(lines, "\n"))
	}
	return nil
}

// printTable writes rows for a terminal.
func printTable(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
