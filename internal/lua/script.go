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

	// plain and withClock make the script, once each and when it is first needed: a
	// command that opens no store needs none of them.
	plain, withClock func() (text, sha string)
	// commands are what it runs in Redis.
	commands func() []string
}

// Text is what is sent to Redis: the prelude's parts, then the body.
func (s *Source) Text() string { text, _ := s.plain(); return text }

// SHA is the script's name for EVALSHA.
func (s *Source) SHA() string { _, sha := s.plain(); return sha }

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

// define describes a script: its embedded file, behind the prelude's parts that
// its header asks for (the line "-- USES clock once ...") before its body. Making
// functions takes time at each run, so parts that a script rarely needs (the line
// "-- LATER ...") are put into one function, later, which makes them and returns the
// one that is called as the last part is. A build that lacks a file panics when it
// opens a store: it must not start.
func define[I Input, O any](s Source, read func(*Reply) O) Script[I, O] {
	made := func(part func(string) string) func() (string, string) {
		return sync.OnceValues(func() (string, string) {
			text := assemble(s.Name, part)
			return text, digest(text)
		})
	}
	s.plain = made(preludePart)
	s.withClock = made(func(part string) string {
		if part == "clock" {
			return callersClock
		}
		return preludePart(part)
	})
	s.commands = sync.OnceValue(func() []string { return commandsOf(s.Text()) })
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
// text without comments, so that the clock can be swapped.
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
			b.WriteString(part(p))
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

// stripped has what preludePart has made: many scripts share a part.
var stripped sync.Map

func preludePart(part string) string {
	text, ok := stripped.Load(part)
	if !ok {
		text, _ = stripped.LoadOrStore(part, stripComments(mustRead("prelude_"+part+".lua")))
	}
	return text.(string) //nolint:forcetypeassert // nothing else is stored
}

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
