package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestEveryFigureHasItsLoadsAndEveryLoadItsFigure(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, l := range loads {
		if known[l.name] {
			t.Errorf("two loads are named %q", l.name)
		}
		known[l.name] = true
	}
	_, needed, err := chosen(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range needed {
		if !known[name] {
			t.Errorf("a figure needs the load %q, which does not exist", name)
		}
	}
	for name := range known {
		if !needed[name] {
			t.Errorf("no figure needs the load %q", name)
		}
	}
	ids := map[string]bool{}
	for _, f := range figures {
		ids[f.id] = true
	}
	for i := range 19 {
		if id := fmt.Sprint("P", i+1); !ids[id] {
			t.Errorf("there is no figure %s", id)
		}
	}
}

func TestOnlyTheChosenFiguresAndTheirLoadsAreMeasured(t *testing.T) {
	t.Parallel()
	fs, needed, err := chosen([]string{"P4"})
	if err != nil || len(fs) != 2 || len(needed) != 3 {
		t.Fatalf("%d figures that need %v, %v", len(fs), needed, err)
	}
	if _, _, err = chosen([]string{"P4", "P99"}); err == nil || err.Error() != "there is no figure P99; they are P1 to P19" {
		t.Errorf("got %v", err)
	}
}

func TestFormulasTakeRatiosWithinARound(t *testing.T) {
	t.Parallel()
	// The machine was twice as slow in the second round; the ratio is 2 in both rounds.
	r := newResults()
	for _, speed := range []float64{2, 1, 2} {
		add(t, r, "a", sample{rate: 20 * speed, p50: time.Duration(float64(time.Millisecond) / speed)})
		add(t, r, "b", sample{rate: 10 * speed})
		add(t, r, "c", sample{rate: 16 * speed})
	}
	for want, f := range map[float64]formula{
		2:    over(rate, "a", "b"),
		200:  percent(rate, "a", "b"),
		0.5:  flat(series{points: []point{{"1", load{name: "a"}}, {"2", load{name: "b"}}, {"3", load{name: "c"}}}}),
		500:  plainly(p50, "a"),
		0.25: over(func(s sample) float64 { return s.rate * s.rate }, "b", "a"),
	} {
		values, missing := f.values(r)
		if missing != "" || len(values) != 3 || median(values) != want {
			t.Errorf("got %v, %q, want %v", values, missing, want)
		}
	}
	if err := r.add("d", sample{}, notHere("no d here")); err != nil {
		t.Fatal(err)
	}
	if values, missing := over(rate, "a", "d").values(r); values != nil || missing != "no d here" {
		t.Errorf("got %v, %q", values, missing)
	}
	if values, missing := plainly(rate, "unknown").values(r); values != nil || missing != "the run ended before" {
		t.Errorf("got %v, %q", values, missing)
	}
	broken := errors.New("broken")
	if err := r.add("e", sample{}, broken); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestTheMedianIsInTheMiddle(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{1: {1}, 2: {3, 1}, 3: {9, 1, 3}} {
		if got := median(values); got != want {
			t.Errorf("of %v: got %v, want %v", values, got, want)
		}
	}
}

func add(t *testing.T, r *results, load string, s sample) {
	t.Helper()
	if err := r.add(load, s, nil); err != nil {
		t.Fatal(err)
	}
}

func TestGoalsAreReachedFromTheirSide(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	for _, c := range []struct {
		g             goal
		v, base       float64
		text, verdict string
	}{
		{atLeast(1.5, "x"), 1.5, none, ">= 1.5 x", "yes"},
		{atLeast(1.5, "x"), 1.4, none, ">= 1.5 x", "no"},
		{atMost(90, "us"), 90, none, "<= 90 us", "yes"},
		{atMost(90, "us"), 91, none, "<= 90 us", "no"},
		{twiceTheBase, 20, none, ">= 2 x the base", "needs BASE"},
		{twiceTheBase, 20, 10, ">= 2 x the base", "yes"},
		{twiceTheBase, 20, 11, ">= 2 x the base", "no"},
		{reported("us"), 20, none, "reported", "reported"},
	} {
		if got := c.g.verdict(c.v, c.base); got != c.verdict || c.g.String() != c.text {
			t.Errorf("%v of %v against %v: %s, want %s", c.g, c.v, c.base, got, c.verdict)
		}
	}
	for ratio, want := range map[float64][2]bool{0.5: {true, false}, 0.95: {}, 1.05: {}, 1.5: {false, true}, none: {}} {
		if got := [2]bool{atLeast(1, "x").fell(ratio), atMost(1, "x").fell(ratio)}; got != want {
			t.Errorf("%v x the base: fell %v, want %v", ratio, got, want)
		}
	}
}

// twoSides is a run in which the new sidecar is twice as fast as the base in all but one
// load, in which it is half as fast, and in which one load was not measured.
func twoSides(t *testing.T) *outcome {
	t.Helper()
	out := &outcome{
		peers: newResults(), sides: []*results{newResults(), newResults()}, baseName: "abc1234",
		figures: figures, loads: loads, everyLoad: true, options: options{duration: time.Second, rounds: 1},
		about: []string{"a machine"},
	}
	for _, l := range loads {
		if l.peer {
			add(t, out.peers, l.name, sample{rate: 10, cpu: time.Microsecond, redis: time.Microsecond, p50: time.Microsecond, value: 1})
			continue
		}
		for i, r := range out.sides {
			d := time.Duration(i+1) * time.Microsecond
			s := sample{rate: float64(20 / (i + 1)), cpu: d, redis: d, p50: d, value: float64(i + 1)}
			if l.name == "client killed" {
				s.value = float64(4 - 3*i)
			}
			var err error
			if l.name == "raw leased 64" {
				err = notHere("no such mode")
			}
			if err := r.add(l.name, s, err); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func TestTheTableShowsTheBaseAndFiguresThatGotWorse(t *testing.T) {
	t.Parallel()
	out := twoSides(t)
	head, rows := out.table()
	if len(rows) != len(figures) {
		t.Fatalf("%d rows for %d figures", len(rows), len(figures))
	}
	for _, row := range rows {
		if len(row) != len(head) {
			t.Errorf("%q has %d cells under %d heads", row, len(row), len(head))
		}
	}
	if got, want := strings.Join(rows[0], "|"), "P1|acquire, Go client, 64 callers, against redis_rate in-process|2 x|1 x|2.00|>= 1.5 x|yes"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	missing := 0
	for _, row := range rows {
		if strings.Contains(strings.Join(row, "|"), "|not measured: no such mode|||") {
			missing++
		}
	}
	if missing != 2 {
		t.Errorf("%d figures were not measured, not 2", missing)
	}
	want := []string{
		"Figures that are more than 10 % worse than those of abc1234:",
		"- P14 lock of a killed client: time until the next caller holds it: from 1 ms to 4 ms, 4.00 x",
	}
	if got := out.falls(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
	out.sides = out.sides[:1]
	if head, rows := out.table(); len(head) != 5 || len(rows[0]) != 5 || out.falls() != nil {
		t.Errorf("without a base: %q, %q, %q", head, rows[0], out.falls())
	}
}

func TestThePageHasEveryFigureAndEveryLoad(t *testing.T) {
	t.Parallel()
	out := twoSides(t)
	page := string(out.page())
	for _, f := range figures {
		if !strings.Contains(page, "| "+f.what+" |") {
			t.Errorf("the page lacks the figure %s", f.what)
		}
	}
	for _, l := range loads {
		if l.name != "raw leased 64" && !strings.Contains(page, "| "+l.name+" |") {
			t.Errorf("the page lacks the load %s", l.name)
		}
	}
	for _, want := range []string{"| base: raw acquire 64 |", "- a machine\n", "](" + plotFile + ")"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestThePlotHasABarForEachPointOfEachSide(t *testing.T) {
	t.Parallel()
	out := twoSides(t)
	d := xml.NewDecoder(bytes.NewReader(out.plot()))
	var bars int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if !bytes.Contains(out.plot(), []byte("(grey: abc1234)")) {
		t.Error("the plot's legend does not name the base's bars")
	}
	if want := 1 + 2*(4+3+2); bars != want { // 1 is the background
		t.Errorf("%d rectangles, not %d", bars, want)
	}
}
