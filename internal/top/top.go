// Package top shows people what a sidecar does now, as sidecar top: on a terminal, by views that they choose and sort, or as text.
//
// Its invariant: nothing that users named does anything to a terminal, and no line is wider than it.
//
// It gathers nothing itself: package look does.
package top

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/look"
)

// Views are the names of the views, in their order.
func Views() (names []string) {
	for _, t := range tables(nil, look.Look{}) {
		names = append(names, t.name)
	}
	return names
}

const (
	// textWidth is that of text, which nobody cuts at the edge of a terminal.
	textWidth = 120
	// textRows is how many rows of each view are printed.
	textRows = 20
	// textPages is how many pages of each list a text is of, if there are so many: nobody waits in front of a text for long.
	textPages = 10
)

// Print prints views as text, so many times with interval between them: the one at a place, or with -1 all that have rows.
func Print(ctx context.Context, to io.Writer, ask look.Ask, times int, interval time.Duration, at int) error {
	looker := look.New(ask)
	var was *look.Look
	for i := range times {
		if i > 0 {
			if err := rest(ctx, interval); err != nil {
				return err
			}
		}
		is, err := looker.Whole(ctx, textPages)
		if err != nil {
			return err
		}
		was = sameSidecar(was, is)
		lines := header(was, is, textWidth)
		for n, t := range tables(was, is) {
			if at >= 0 && n != at {
				continue
			}
			if len(t.rows) == 0 && t.note == "" && at < 0 {
				continue
			}
			t.arrange("", t.order, false)
			lines = append(lines, "", strings.ToUpper(t.name))
			lines = append(lines, t.lines(textWidth, 0, textRows, -1)...)
			if more := len(t.rows) - textRows; more > 0 {
				lines = append(lines, fmt.Sprintf("... and %d more", more))
			}
		}
		if i > 0 {
			lines = append([]string{""}, lines...)
		}
		for _, l := range lines {
			if _, err := fmt.Fprintln(to, strings.TrimRight(l, " ")); err != nil {
				return err
			}
		}
		was = &is
	}
	return nil
}

// sight is what one look at the sidecar came to.
type sight struct {
	is  look.Look
	err error
}

// lookOn looks until ctx ends, also while the sidecar is away.
func lookOn(ctx context.Context, ask look.Ask, interval time.Duration) <-chan sight {
	looker, sights := look.New(ask), make(chan sight)
	go func() {
		for {
			bounded, cancel := context.WithTimeout(ctx, api.DefaultDeadlineMS*time.Millisecond)
			is, err := looker.Look(bounded)
			cancel()
			select {
			case sights <- sight{is, err}:
			case <-ctx.Done():
				return
			}
			if rest(ctx, interval) != nil {
				return
			}
		}
	}()
	return sights
}

// Show shows views on a terminal, beginning with the one at a place, until it is left or ctx ends, and leaves the terminal as it was.
func Show(ctx context.Context, in, out *os.File, ask look.Ask, interval time.Duration, at int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := screen{in: in, out: out}
	if err := s.open(); err != nil {
		return err
	}
	defer s.close() // also when what follows panics
	resized, stop := s.resized()
	defer stop()
	keys, sights := s.keys(ctx), lookOn(ctx, ask, interval)
	v := view{at: at}
	for {
		width, height := s.size()
		if err := s.draw(v.lines(width, height)); err != nil {
			return err
		}
		select {
		case seen := <-sights:
			v.take(seen)
		case key, open := <-keys:
			if !open || v.press(key) {
				return nil
			}
		case <-resized:
		case <-ctx.Done():
			return nil
		}
	}
}

// rest waits, or returns why ctx ended before.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
