package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
)

// verdict says which kinds of client reach the target.
func (f figure) verdict() string {
	switch reached := f.reached; {
	case reached(f.values[0]):
		return "yes"
	case reached(f.values[1]):
		return "without id"
	case reached(f.values[2]):
		return "raw only"
	default:
		return "no"
	}
}

func (f figure) row() []string {
	row := []string{f.id, f.what}
	for _, v := range f.values {
		row = append(row, fmt.Sprintf("%.3g %s", v, f.unit))
	}
	return append(row, f.target, f.verdict())
}

var figureHead = []string{"#", "figure", "Go client", "without id", "raw", "target", "reached"}

func (r rounds) pointRow(name string) []string {
	field := func(f func(sample) float64, format string) string {
		v := r.median(func(at func(string) sample) float64 { return f(at(name)) })
		if v == 0 {
			return ""
		}
		return fmt.Sprintf(format, v)
	}
	return []string{
		name,
		field(func(s sample) float64 { return s.rate }, "%.0f"),
		field(func(s sample) float64 { return us(s.p50) }, "%.0f"),
		field(func(s sample) float64 { return us(s.p99) }, "%.0f"),
		field(func(s sample) float64 { return us(s.cpu) }, "%.1f"),
	}
}

var pointHead = []string{"load, callers", "calls/s", "p50 us", "p99 us", "CPU us/call"}

// printTable writes rows for a terminal.
func printTable(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// markdown writes the same rows for a page.
func markdown(w io.Writer, head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	fmt.Fprintln(w, strings.Repeat("|---", len(head))+"|")
	for _, row := range rows {
		line(row)
	}
}

// machine describes where it was measured, without names or paths of the host.
func machine() []string {
	lines := []string{
		fmt.Sprintf("CPU: %s, %d cores", cpuModel(), runtime.NumCPU()),
		"kernel: " + readLine("/proc/sys/kernel/osrelease"),
		"load average at the start: " + readLine("/proc/loadavg"),
		"Go: " + runtime.Version(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "github.com/redis/go-redis/v9") || strings.Contains(m.Path, "redis_rate") {
				lines = append(lines, m.Path+" "+m.Version)
			}
		}
	}
	return lines
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func readLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// page is docs/benchmarks.md.
func page(w io.Writer, r rounds, names, about []string, d time.Duration) {
	count := len(r["direct 1"])
	fmt.Fprintf(w, `# Benchmarks

Written by `+"`make bench`"+`; do not edit. Redis, the sidecar and all callers share one machine, so the ratios
count, not the absolute figures. Each load runs for %v, one after the other, in %d rounds; a ratio is taken within
a round, and the median of the rounds is shown.

The load is token_bucket, 1,000,000 per second, cost 1, over 10,000 keys, on 4 connections (1 for one caller).
"Go client" is package client as it comes: its own cost per call is in the figure, and so is the request id that it
gives each acquire, for which the script keeps the reply. "without id" is the same client told to send none. "raw" is
one goroutine per connection that writes prepared frames without an id and only counts replies, which shows the sidecar
alone. A target counts as reached when the Go client as it comes reaches it; else the column that does is named.

`, d, count)
	var rows [][]string
	for _, f := range r.figures() {
		rows = append(rows, f.row())
	}
	markdown(w, figureHead, rows)
	fmt.Fprint(w, "\n## What was measured\n\nMedians of the rounds; CPU is user and system time of the process under test.\n\n")
	rows = nil
	for _, n := range names {
		rows = append(rows, r.pointRow(n))
	}
	markdown(w, pointHead, rows)
	fmt.Fprint(w, "\n## Where\n\n")
	for _, line := range about {
		fmt.Fprintf(w, "- %s\n", line)
	}
	fmt.Fprint(w, "\nTo measure again: `make bench`, on a machine that does nothing else.\n")
}
