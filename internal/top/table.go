package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// table is one view of sidecar top.
type table struct {
	name    string
	columns []column
	rows    [][]any // texts, numbers and durations; all of a column are of one type
	order   int     // the column that sorts it until a user chooses another
	note    string  // why rows are missing; empty = none is
}

// column is a column of a table. If its width is 0, it gets the space that the other columns leave.
type column struct {
	name  string
	width int // in characters, at most
}

// sortMark is appended to the heading of the column by which a view is sorted.
const sortMark = "*"

// arrange keeps the rows that have the filter's text in any column, and sorts them by a column:
// numbers descending, texts ascending, or the reverse.
func (t *table) arrange(filter string, by int, reverse bool) {
	filter = strings.ToLower(filter)
	t.rows = slices.DeleteFunc(t.rows, func(row []any) bool {
		return !slices.ContainsFunc(row, func(v any) bool {
			text, ok := v.(string)
			return ok && strings.Contains(strings.ToLower(text), filter)
		})
	})
	if by >= len(t.columns) {
		return
	}
	slices.SortStableFunc(t.rows, func(a, b []any) int {
		order := compareCells(a[by], b[by])
		if reverse {
			return -order
		}
		return order
	})
}

func compareCells(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(b.(int64), a)
	case float64:
		return cmp.Compare(b.(float64), a)
	case time.Duration:
		return cmp.Compare(b.(time.Duration), a)
	default:
		return cmp.Compare(a.(string), b.(string))
	}
}

// lines returns the heading and at most `most` rows starting at the row `from`, each at most width characters
// long. Names that users chose are escaped, so that they cannot control the terminal.
func (t *table) lines(width, from, most, sorted int) []string {
	shown := t.rows[min(from, len(t.rows)):]
	shown = shown[:min(most, len(shown))]
	cells := make([][]string, 0, len(shown)+1)
	heading := make([]string, len(t.columns))
	for i, c := range t.columns {
		heading[i] = c.name
		if i == sorted {
			heading[i] += sortMark
		}
	}
	cells = append(cells, heading)
	for _, row := range shown {
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = cellText(v)
		}
		cells = append(cells, texts)
	}
	widths := t.widths(cells, width)
	lines := make([]string, 0, len(cells)+1)
	for _, texts := range cells {
		var b strings.Builder
		for i, text := range texts {
			if i > 0 {
				b.WriteString("  ")
			}
			_, left := t.text(i)
			b.WriteString(fitted(text, widths[i], left))
		}
		lines = append(lines, strings.TrimRight(fitted(b.String(), width, true), " "))
	}
	if t.note != "" {
		lines = append(lines, fitted(api.Printable(t.note), width, true))
	}
	return lines
}

// text reports whether a column has texts, which are aligned left; known is false if there are no rows.
func (t *table) text(column int) (known, left bool) {
	if len(t.rows) == 0 {
		return false, true
	}
	_, left = t.rows[0][column].(string)
	return true, left
}

// widths divides a line among the columns: each gets the width that it needs, at most its own width, and the first
// column of width 0 gets the rest.
func (t *table) widths(cells [][]string, width int) []int {
	widths := make([]int, len(t.columns))
	rest, open := width-2*(len(t.columns)-1), -1
	for i, c := range t.columns {
		for _, row := range cells {
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
		if c.width > 0 {
			widths[i] = min(widths[i], max(c.width, len(c.name)+len(sortMark)))
		} else if open < 0 {
			open = i
			continue
		}
		rest -= widths[i]
	}
	if open >= 0 {
		widths[open] = max(min(widths[open], rest), 4)
	}
	return widths
}

func cellText(v any) string {
	switch v := v.(type) {
	case string:
		return api.Printable(v)
	case float64:
		return fmt.Sprintf("%.1f", v)
	case time.Duration:
		return shortDuration(v)
	default:
		return fmt.Sprint(v)
	}
}

// fitted cuts a text to a width, with an ellipsis, or pads it with spaces at its right or left.
func fitted(text string, width int, left bool) string {
	runes := []rune(text)
	switch pad := width - len(runes); {
	case pad < 0:
		return string(runes[:max(width-1, 0)]) + "…"
	case left:
		return text + strings.Repeat(" ", pad)
	default:
		return strings.Repeat(" ", pad) + text
	}
}

// shortDuration formats a duration with about three digits; a negative one is unknown.
func shortDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1fms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		text := d.Truncate(time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		return text
	}
}
