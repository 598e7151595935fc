package top

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
)

// view has the choices of the user (the view, its order, its filter) and the last two looks.
type view struct {
	at      int             // the index of the view
	from    int             // the index of the first row that is shown
	page    int             // how many rows fit
	orders  map[int]sorting // by view, if the user has changed its order
	filter  string
	typing  bool // the user types the filter
	help    bool
	was, is *look.Look
	lost    error // the error of the latest look; nil = it succeeded
}

// sorting is how a view is sorted.
type sorting struct {
	column  int
	reverse bool
}

const help = `1 to 9, Tab      choose a view; Tab goes to the next one
s, S             sort by the next column, or the one before
r                sort the other way round
/                filter by a text in any column: Enter keeps it, Esc drops it
up, down, j, k   scroll by a line; PgUp, PgDn, space by a page
? or h           show or hide this help
q, Ctrl-C        quit

The column with the * is the one that it is sorted by. Rates are since the
last look, P50 and P99 since the sidecar started. OFF BY says by how much a
count of refusals may be wrong, since only so many keys are counted.`

// take keeps a look, or the error of one that failed.
func (v *view) take(seen sight) {
	if v.lost = seen.err; seen.err != nil {
		return
	}
	v.was, v.is = sameSidecar(v.is, seen.is), &seen.is
}

// lines returns the lines that fill a terminal of that size.
func (v *view) lines(width, height int) []string {
	if v.is == nil {
		text := "waiting for the sidecar ..."
		if v.lost != nil {
			text = api.Printable(v.lost.Error())
		}
		return []string{fitted(text, width, true)}
	}
	tables := tables(v.was, *v.is)
	t := &tables[v.at]
	order := v.order(t)
	t.arrange(v.filter, order.column, order.reverse)
	lines := append(header(v.was, *v.is, width), "", v.bar(tables, width))
	if v.help {
		for l := range strings.Lines(help) {
			lines = append(lines, fitted(strings.TrimSuffix(l, "\n"), width, true))
		}
	} else {
		v.page = max(height-len(lines)-2, 1) // without the heading and the line below
		if t.note != "" {
			v.page = max(v.page-1, 1)
		}
		v.from = max(min(v.from, len(t.rows)-v.page), 0)
		lines = append(lines, t.lines(width, v.from, v.page, order.column)...)
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(height-1, 0)], v.foot(len(t.rows), width))
}

// bar returns the line that names the views.
func (v *view) bar(tables []table, width int) string {
	var b strings.Builder
	for i, t := range tables {
		name := fmt.Sprintf("%d %s", i+1, t.name)
		if i == v.at {
			name = "[" + name + "]"
		}
		b.WriteString(name + " ")
	}
	return fitted(b.String(), width, true)
}

// foot returns the last line.
func (v *view) foot(rows, width int) string {
	text := fmt.Sprintf("%d rows", rows)
	if v.from > 0 || rows > v.page {
		text = fmt.Sprintf("rows %d-%d of %d", v.from+1, min(v.from+v.page, rows), rows)
	}
	switch {
	case v.lost != nil:
		text = "old: " + api.Printable(v.lost.Error())
	case v.typing:
		text = "filter: " + api.Printable(v.filter) + "_"
	case v.filter != "":
		text += ", filter: " + api.Printable(v.filter)
	}
	const keys = "  ? help  q quit"
	return fitted(text, max(width-len(keys), 0), true) + keys[:min(len(keys), width)]
}

func (v *view) order(t *table) sorting {
	if o, ok := v.orders[v.at]; ok {
		return o
	}
	return sorting{column: t.order}
}

// press carries out a key's command, and reports whether the user quits.
func (v *view) press(key string) (quit bool) {
	if key == "\x03" {
		return true
	}
	if v.typing {
		v.write(key)
		return false
	}
	views := len(Views())
	switch key {
	case "q", "Q":
		return true
	case "?", "h":
		v.help = !v.help
	case "\t":
		v.turn((v.at + 1) % views)
	case "/":
		v.typing, v.filter, v.from = true, "", 0
	case "\x1b":
		v.filter, v.help = "", false
	case "s":
		v.sort(1, false)
	case "S":
		v.sort(-1, false)
	case "r":
		v.sort(0, true)
	case "\x1b[A", "\x1bOA", "k":
		v.from = max(v.from-1, 0)
	case "\x1b[B", "\x1bOB", "j":
		v.from++
	case "\x1b[5~":
		v.from = max(v.from-v.page, 0)
	case "\x1b[6~", " ":
		v.from += v.page
	default:
		if len(key) == 1 && key[0] >= '1' && int(key[0]-'0') <= views {
			v.turn(int(key[0] - '1'))
		}
	}
	return false
}

func (v *view) turn(to int) { v.at, v.from, v.help = to, 0, false }

// sort moves the order by some columns or, if reverse is set, reverses its direction.
func (v *view) sort(by int, reverse bool) {
	t := &tables(nil, look.Look{})[v.at]
	columns, o := len(t.columns), v.order(t)
	o.column = (o.column + by + columns) % columns
	o.reverse = o.reverse != reverse && by == 0
	if v.orders == nil {
		v.orders = make(map[int]sorting)
	}
	v.orders[v.at] = o
}

// write applies a key to the filter.
func (v *view) write(key string) {
	switch key {
	case "\r", "\n":
		v.typing = false
	case "\x1b":
		v.typing, v.filter = false, ""
	case "\x7f", "\b":
		_, last := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-last]
	default:
		if utf8.ValidString(key) && !strings.ContainsFunc(key, unicode.IsControl) {
			v.filter += key
		}
	}
}
