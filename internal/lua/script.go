// Package lua owns everything that talks to Redis: the embedded scripts, their
// typed descriptors, the one runner that executes them, and the connection.
//
// Its invariant: shared state changes only inside a script, a script that
// refuses writes nothing, and a script whose outcome is unknown is run again
// only when that cannot count twice.
//
// It knows neither rules nor sessions; it never imports coord.
package lua

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is secured by it.
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

//go:embed *.lua
var files embed.FS

// Source is the part of a script that the runner needs, without its types.
type Source struct {
	// Name is the file name without .lua; it is also the span and the label.
	Name string
	// Keys, Args and Returns name KEYS, ARGV and the reply's values in order.
	// A test compares them with the header of the file. Keys never name the
	// latch, which the runner adds after them.
	Keys, Args, Returns []string
	// Idempotent scripts may be run again after an ambiguous failure.
	Idempotent bool
	// Latched scripts wrap their body in once() and so take a request id.
	Latched bool

	text, sha string
	// withClock makes what clocked returns, once.
	withClock func() (text, sha string)
}

// Text is what is sent to Redis: the prelude's parts, then the body.
func (s *Source) Text() string { return s.text }

// SHA is the script's name for EVALSHA.
func (s *Source) SHA() string { return s.sha }

// clocked is the script on the caller's clock instead of the server's: its now
// is the last of ARGV, in Unix microseconds, after the fingerprint where there
// is one. It serves Options.Clock.
func (s *Source) clocked() (text, sha string) { return s.withClock() }

// Input is what one run of a script is given. Only this package implements it,
// beside the descriptor it belongs to.
type Input interface {
	// keys and args append KEYS and ARGV in the descriptor's order.
	keys(to []string) []string
	args(to []any) []any
}

// Script is a Source that knows its input and output types.
type Script[I Input, O any] struct {
	*Source
	// read turns a reply into O; the Reply reports what does not fit.
	read func(*Reply) O
}

var scripts []*Source

// Scripts returns every script, for loading and for tests that visit them all.
// The slice is shared: do not change it.
func Scripts() []*Source { return scripts }

// define reads the embedded file of a script and puts the prelude's parts that
// its header asks for (the line "-- USES clock once ...") before its body. Making
// functions takes time at each run, so parts that a script rarely needs (the line
// "-- LATER ...") are put into one function, later, which makes them and returns the
// one that is called as the last part is. It panics when the file is not there: a
// build that lacks a script must not start.
func define[I Input, O any](s Source, read func(*Reply) O) Script[I, O] {
	s.text = assemble(s.Name, preludePart)
	s.sha = digest(s.text)
	s.withClock = sync.OnceValues(func() (string, string) {
		text := assemble(s.Name, func(part string) string {
			if part == "clock" {
				return callersClock
			}
			return preludePart(part)
		})
		return text, digest(text)
	})
	scripts = append(scripts, &s)
	return Script[I, O]{&s, read}
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// callersClock stands in for prelude_clock.lua in clocked.
const callersClock = "local now = tonumber(ARGV[#ARGV])\n"

// assemble builds a script's text; part maps the name of a prelude part to its
// text, so that the clock can be swapped.
func assemble(name string, part func(string) string) string {
	body := mustRead(name + ".lua")
	var b strings.Builder
	parts := func(header string) (names []string) {
		for line := range strings.Lines(body) {
			if list, ok := strings.CutPrefix(line, header); ok {
				names = append(names, strings.Fields(list)...)
			}
		}
		for _, p := range names {
			b.WriteString(stripComments(part(p)))
		}
		return names
	}
	parts("-- USES ")
	if strings.Contains(body, "\n-- LATER ") {
		b.WriteString("local function later()\n")
		names := parts("-- LATER ")
		fmt.Fprintf(&b, "return %s\nend\n", names[len(names)-1])
	}
	b.WriteString(stripComments(body))
	return b.String()
}

func preludePart(part string) string { return mustRead("prelude_" + part + ".lua") }

// stripComments drops whole-line comments: they are for readers of the source,
// and Redis keeps every script's text in memory.
func stripComments(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if t := strings.TrimSpace(line); t == "" || strings.HasPrefix(t, "--") {
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func mustRead(file string) string {
	b, err := files.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	return string(b)
}
