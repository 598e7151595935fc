package top

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is the terminal that sidecar top draws on.
type screen struct {
	in, out *os.File
	was     *term.State
}

const (
	// enterScreen switches to the alternate screen, hides the cursor and turns wrapping of lines
	// off; leaveScreen undoes it.
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	restOfLine  = "\x1b[K"
	restBelow   = "\x1b[J"
)

// open switches the terminal to raw mode, in which keys arrive one by one and are not echoed, and to the alternate
// screen.
func (s *screen) open() (err error) {
	if s.was, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		return err
	}
	_, err = s.out.WriteString(enterScreen)
	return err
}

// close restores the terminal. Errors are ignored: if it fails, the terminal is gone.
func (s *screen) close() {
	_, _ = s.out.WriteString(leaveScreen)
	_ = term.Restore(int(s.in.Fd()), s.was)
}

// size returns the size of the terminal, 80x24 if it is unknown.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// resized returns a channel that receives a signal when the size has changed, and a function that stops it.
func (s *screen) resized() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// draw replaces the lines that are shown, in one write, so that nothing flickers.
func (s *screen) draw(lines []string) error {
	var b strings.Builder
	b.WriteString(homeCursor)
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l)
		b.WriteString(restOfLine)
	}
	b.WriteString(restBelow)
	_, err := s.out.WriteString(b.String())
	return err
}

// keys returns a channel of the keys that are typed, which is closed when the terminal is gone. The goroutine that reads
// them ends with the process at the latest, because a read cannot be cancelled.
func (s *screen) keys(ctx context.Context) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		b := make([]byte, 256)
		for {
			n, err := s.in.Read(b)
			if err != nil {
				return
			}
			for _, key := range splitKeys(string(b[:n])) {
				select {
				case keys <- key:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return keys
}

// splitKeys splits the bytes of one read into keys: characters, and the escape sequences of other keys.
func splitKeys(typed string) (keys []string) {
	for len(typed) > 0 {
		_, n := utf8.DecodeRuneInString(typed)
		if strings.HasPrefix(typed, "\x1b[") || strings.HasPrefix(typed, "\x1bO") {
			n = 2 // a sequence ends with its first byte from @ to ~
			for n < len(typed) && (typed[n] < '@' || typed[n] > '~') {
				n++
			}
			n = min(n+1, len(typed))
		}
		keys, typed = append(keys, typed[:n]), typed[n:]
	}
	return keys
}
