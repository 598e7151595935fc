// Package top is the display of sidecar top: it shows the state of a sidecar on a terminal, in views that the user
// chooses and sorts, or as text.
//
// Its invariant: names that users chose cannot control the terminal, and no line is wider than the terminal.
//
// It reads nothing itself: package look does.
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

// Views returns the names of the views, in their order.
func Views() (names []string) {
	for _, t := range tables(nil, look.Look{}) {
		names = append(names, t.name)
	}
	return names
}

const (
	// textWidth is the width of lines of text, which may go to a file.
	textWidth = 120
	// textRows is how many rows of each view are printed.
	textRows = 20
	// textPages bounds the pages of each list that are read before text is printed, so that it is printed soon.
	textPages = 10
)

// Print prints views as text, a number of times with interval between them: the view at an index, or with -1 all views
// that have rows.
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

// sight is the outcome of one look.
type sight struct {
	is  look.Look
	err error
}

// lookOn looks again an interval after each look until ctx ends, also after a look that failed.
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

// Show shows views on a terminal, beginning with the one at an index, until the user quits or ctx ends. Then it
// restores the terminal.
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

// rest waits for d, or returns the error of ctx if that ends before.
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
