package main

import (
	"fmt"
	"strings"
)

// A sequence is described line by line; the first line has the title, the second the actors:
//
//	title TEXT
//	actors A, B, C
//	A > B: TEXT       A sends a message to B
//	A x B: TEXT       A sends a message to B, which is refused or lost
//	A . B: TEXT       A answers B
//	at A: TEXT        a note at A
//	bad A: TEXT       a note at A about a failure
//	hold A            from here on A holds a lease
//	lose A            from here on A only believes that it holds a lease
//	free A            from here on A does neither
//	later TEXT        time passes
//	                  empty lines and lines that begin with # are ignored
//
// In the line of actors (TEXT) may follow a name; it is the second line in the actor's box.
const (
	laneWidth  = 204.0
	rowHeight  = 34.0
	firstRow   = 78.0
	barHalf    = 5.0
	arrowSize  = 7.0
	laneMargin = 102.0
)

type lane struct {
	name, sub string
	x         float64
	since     float64 // of its bar
	bar       string  // class of the bar that is open, or none
}

type sequenceDrawing struct {
	drawing
	title string
	lanes []*lane
	bars  strings.Builder // below everything else
	y     float64
}

func sequence(text string) (string, error) {
	s := &sequenceDrawing{y: firstRow}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := s.step(line); err != nil {
			return "", fmt.Errorf("line %d: %w", n, err)
		}
	}
	if s.lanes == nil || s.title == "" {
		return "", fmt.Errorf("it needs a title and actors")
	}
	return s.finish(), nil
}

// step draws one line of the description.
func (s *sequenceDrawing) step(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "title":
		s.title = rest
		return nil
	case "actors":
		for i, name := range strings.Split(rest, ", ") {
			name, sub, _ := strings.Cut(name, " (")
			s.lanes = append(s.lanes, &lane{name: name, sub: strings.TrimSuffix(sub, ")"), x: laneMargin + laneWidth*float64(i)})
		}
		s.width = laneWidth * float64(len(s.lanes))
		return nil
	case "later":
		s.later(rest)
		return nil
	case "hold", "lose", "free":
		l, err := s.lane(rest)
		if err != nil {
			return err
		}
		s.bar(l, map[string]string{"hold": "held", "lose": "lost"}[word])
		return nil
	case "at", "bad":
		name, text, ok := strings.Cut(rest, ": ")
		l, err := s.lane(name)
		if err != nil || !ok {
			return fmt.Errorf("%q: write at NAME: TEXT (%w)", line, err)
		}
		s.note(l, text, word == "bad")
		return nil
	}
	return s.message(line)
}

func (s *sequenceDrawing) lane(name string) (*lane, error) {
	for _, l := range s.lanes {
		if l.name == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%q is not among the actors", name)
}

// message draws an arrow, whose text is above it.
func (s *sequenceDrawing) message(line string) error {
	who, text, ok := strings.Cut(line, ": ")
	var from, to *lane
	class := ""
	for mark, c := range map[string]string{" > ": "line", " x ": "no", " . ": "line dash"} {
		a, b, found := strings.Cut(who, mark)
		if !found {
			continue
		}
		var err error
		if from, err = s.lane(a); err != nil {
			return err
		}
		if to, err = s.lane(b); err != nil {
			return err
		}
		class = c
	}
	if !ok || class == "" {
		return fmt.Errorf("%q: write A > B: TEXT", line)
	}
	side := 1.0
	if to.x < from.x {
		side = -1
	}
	start, end := from.x+side*barHalf, to.x-side*(barHalf+1)
	s.text("small", "middle", (from.x+to.x)/2, s.y-6, text)
	s.line(class, start, s.y, end, s.y)
	head := "head"
	if class == "no" {
		head = "nohead"
	}
	s.add(`<path class="%s" d="M%.1f %.1fl%.1f %.1fv%.1fz"/>`, head, end, s.y, -side*arrowSize, -arrowSize/2, arrowSize)
	s.y += rowHeight
	return nil
}

// note draws a text at the right of a lane; at the left of the last one.
func (s *sequenceDrawing) note(l *lane, text string, bad bool) {
	class, anchor, x := "small good", "start", l.x+barHalf+6
	if bad {
		class = "small bad"
	}
	if l == s.lanes[len(s.lanes)-1] && len(s.lanes) > 1 {
		anchor, x = "end", l.x-barHalf-6
	}
	s.text(class, anchor, x, s.y-4, text)
	s.y += rowHeight - 8
}

// later draws a line for time that passes.
func (s *sequenceDrawing) later(text string) {
	s.line("grid dash", 8, s.y-8, s.width-8, s.y-8)
	s.text("small muted", "start", 8, s.y-14, text)
	s.y += rowHeight - 8
}

// bar ends the bar of a lane, and begins another unless class is empty.
func (s *sequenceDrawing) bar(l *lane, class string) { s.barAt(l, class, s.y-rowHeight+4) }

func (s *sequenceDrawing) barAt(l *lane, class string, at float64) {
	if l.bar != "" {
		fmt.Fprintf(&s.bars, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`+"\n", l.bar, l.x-barHalf, l.since, 2*barHalf, at-l.since)
	}
	l.bar, l.since = class, at
}

func (s *sequenceDrawing) finish() string {
	s.height = s.y - 6
	for _, l := range s.lanes {
		s.barAt(l, "", s.height-8)
	}
	steps := s.String()
	s.Reset()
	for _, l := range s.lanes {
		s.line("axis", l.x, 48, l.x, s.height-8)
	}
	s.WriteString(s.bars.String())
	for _, l := range s.lanes {
		s.rect("box", l.x-78, 8, 156, 40)
		if l.sub == "" {
			s.text("title", "middle", l.x, 33, l.name)
			continue
		}
		s.text("title", "middle", l.x, 25, l.name)
		s.text("small muted", "middle", l.x, 41, l.sub)
	}
	s.WriteString(steps)
	return s.whole(s.title)
}
