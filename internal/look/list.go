package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// fewest and most bound how many rows a look asks for. SCAN reads as many keys in a step, and a page takes at most 20 steps. If
	// pages have few rows, most keys belong to other nouns, and longer steps pass them in fewer looks. If pages have many rows, fewer
	// are asked for, since each row costs a run of a script.
	fewest, most = 200, 1000
	// MaxRows bounds the rows of a list. Those that rank first are kept.
	MaxRows = 2000
	// pageTime bounds the wait for a page, so that a silent Redis does not delay a look for longer.
	pageTime = 2 * time.Second
)

// List has the rows of one noun that looks have read so far, and says how complete they are.
type List[E any] struct {
	// Rows are those of the last complete round, updated by those that the round under way has read. They are sorted by rank, such
	// as the length of a lock's waiting line, and then by name.
	Rows []E
	// Left is about how many rows more there are than MaxRows.
	Left int
	// Pages is how many pages the round under way has asked for; 0 = the last page ended a round.
	Pages int
	// Began is when the last complete round began; zero = none is complete.
	Began time.Time
	// Err is why the last page could not be read.
	Err error
}

func (l *List[E]) underWay() bool { return l.Pages > 0 && l.Err == nil }

// Note says in words what the list lacks; empty = it is complete and of this look.
func (l *List[E]) Note(now time.Time) string {
	var notes []string
	switch {
	case l.Err != nil:
		notes = append(notes, Text(l.Err))
	case l.Pages > 0 && l.Began.IsZero():
		notes = append(notes, fmt.Sprintf("still looking: %d %s so far, and there are more keys", l.Pages, plural(l.Pages, "page")))
	case l.Pages > 0:
		notes = append(notes, fmt.Sprintf("there are many keys: a row may be %s old", now.Sub(l.Began).Truncate(time.Second)))
	}
	if l.Left > 0 {
		notes = append(notes, fmt.Sprintf("there are %d more; the command list of the noun shows all", l.Left))
	}
	return strings.Join(notes, "; ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// round is the progress of a pass through all pages of a list.
type round[E any] struct {
	cursor string
	count  int64
	began  time.Time
	left   int
	found  map[string]E
	row    func(*E) (name string, rank int64)
}

// follow makes a lister of a method. Params makes the params of a page, page takes a result apart, and row names and ranks a row.
func follow[P, R, E any](
	ask Ask, m api.Method[P, R], of func(*Lists) *List[E], params func(cursor string, count int64) P, page func(*R) ([]E, string),
	row func(*E) (name string, rank int64),
) lister {
	r := &round[E]{count: most, row: row}
	return func(ctx context.Context, lists *Lists) {
		l := of(lists)
		if r.cursor == "" {
			r.began, r.left, r.found = time.Now(), 0, make(map[string]E)
			l.Pages = 0
		}
		var result R
		bounded, cancel := context.WithTimeout(ctx, pageTime)
		defer cancel()
		if l.Err = ask(bounded, m.Name, params(r.cursor, r.count), &result); l.Err != nil {
			r.count = fewest
			if errors.Is(l.Err, api.InvalidArgument) {
				r.cursor = "" // it is of a Redis that has gone, or of another layout of the cluster: the next look begins anew
			}
			return
		}
		rows, next := page(&result)
		r.add(rows)
		r.count = fewest
		if len(rows) < fewest {
			r.count = most
		}
		r.cursor = next
		l.Pages++
		if next == "" {
			rows, over := r.first(r.found)
			l.Rows, l.Left, l.Pages, l.Began = rows, r.left+over, 0, r.began
			return
		}
		rows, over := r.first(r.over(l.Rows))
		l.Rows, l.Left = rows, max(l.Left, r.left+over)
	}
}

// add takes the rows of a page. It keeps at most two times MaxRows, so that sorting them is rare.
func (r *round[E]) add(rows []E) {
	for i := range rows {
		r.put(r.found, &rows[i])
	}
	if len(r.found) <= 2*MaxRows {
		return
	}
	kept, over := r.first(r.found)
	r.left += over
	clear(r.found)
	for i := range kept {
		r.put(r.found, &kept[i])
	}
}

func (r *round[E]) put(in map[string]E, row *E) {
	name, _ := r.row(row)
	in[name] = *row
}

// over merges the rows of the round before with those that this round has read, which replace them.
func (r *round[E]) over(before []E) map[string]E {
	all := make(map[string]E, len(before)+len(r.found))
	for i := range before {
		r.put(all, &before[i])
	}
	maps.Copy(all, r.found)
	return all
}

// first returns the rows that rank first, and how many it leaves out.
func (r *round[E]) first(all map[string]E) (rows []E, over int) {
	rows = slices.SortedFunc(maps.Values(all), func(a, b E) int {
		nameA, rankA := r.row(&a)
		nameB, rankB := r.row(&b)
		return cmp.Or(cmp.Compare(rankB, rankA), strings.Compare(nameA, nameB))
	})
	over = max(len(rows)-MaxRows, 0)
	return slices.Clip(rows[:len(rows)-over]), over
}
