// Package lua is the script engine: it assembles the texts of scripts from their files and
// from the parts that nouns share (lib), knows their contracts, and runs them, alone or
// many in one pipeline.
// It decides which failed tries are repeated, for how long, and what the caller is
// told.
//
// Its invariant: shared state changes only inside a script, a script that
// refuses writes nothing, and a script whose outcome is unknown is run again
// only when that cannot count twice.
//
// It knows neither rules nor sessions, and never imports coord; connections are
// those of package redis, which sends each try once.
package lua

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing is secured by it.
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed lib/*.lua
var lib embed.FS

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

	files    embed.FS
	contract *contract

	// plain and withClock make the script, once each and when it is first needed: a
	// command that opens no store needs none of them.
	plain, withClock func() (text, sha string)
	// commands are what it runs in Redis.
	commands func() []string
}

// Text returns the script as Redis gets it: its parts, then its body.
func (s *Source) Text() string { text, _ := s.plain(); return text }

// SHA is the script's name for EVALSHA.
func (s *Source) SHA() string { _, sha := s.plain(); return sha }

// clocked is the script on the caller's clock instead of the server's: its now
// is the last of ARGV, in Unix microseconds, after the fingerprint where there
// is one. It serves Options.Clock.
func (s *Source) clocked() (text, sha string) { return s.withClock() }

// Script is a Source that knows its input and output types.
type Script[I, O any] struct {
	*Source
	// put appends KEYS, the latch's key unless it is empty, and ARGV. It also returns
	// how many keys there are.
	put func(in I, latch string, to []any) (all []any, keys int)
	// read turns a reply into O; the Reply reports what does not fit. A replayed one
	// may be of an earlier version.
	read func(r *Reply, replayed bool) O
}

var scripts []*Source

// Scripts returns every script, for loading and for tests that visit them all.
// The slice is shared: do not change it.
func Scripts() []*Source { return scripts }

// Define describes a script by its two structs, see contract, and its embedded file.
// Where the output is a number or a bool and no struct, Returns has its name.
//
// Its header may ask for parts before its body (the line "-- USES clock lock ..."). Making
// functions takes time at each run, so parts that a script rarely needs (the line
// "-- LATER ...") are put into one function, later, which makes them and returns the
// one that is called as the last part is. A build that lacks a file panics when it
// opens a store: it must not start.
func Define[I, O any](files embed.FS, src Source) Script[I, O] {
	c := contractOf(reflect.TypeFor[I](), reflect.TypeFor[O](), strings.Join(src.Returns, " "))
	src.Keys, src.Args, src.Returns = c.names()
	src.contract = c
	return Script[I, O]{
		register(files, src),
		func(in I, latch string, to []any) ([]any, int) {
			v, first := reflect.ValueOf(&in).Elem(), len(to)
			to = c.appendKeys(to, v)
			if latch != "" {
				to = append(to, latch)
			}
			keys := len(to) - first
			return c.appendArgs(to, v), keys
		},
		func(r *Reply, replayed bool) (out O) {
			c.readInto(reflect.ValueOf(&out).Elem(), r, replayed)
			return out
		},
	}
}

// register makes the texts of a script, each when it is first needed.
func register(files embed.FS, src Source) *Source {
	s := &src
	s.files = files
	made := func(part func(string) string) func() (string, string) {
		return sync.OnceValues(func() (string, string) {
			text := s.assemble(part)
			return text, digest(text)
		})
	}
	s.plain = made(s.part)
	s.withClock = made(func(part string) string {
		if part == "clock" {
			return callersClock
		}
		return s.part(part)
	})
	s.commands = sync.OnceValue(func() []string { return commandsOf(s.Text()) })
	scripts = append(scripts, s)
	return s
}

// redisCall finds the commands in a script's text.
var redisCall = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// commandsOf are the commands that a script runs, without PUBLISH: scripts go on if it is denied.
func commandsOf(text string) []string {
	var list []string
	for _, m := range redisCall.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// callersClock stands in for lib/clock.lua in clocked.
const callersClock = "local now = tonumber(ARGV[#ARGV])\n"

// assemble builds a script's text; part maps the name of a part to its
// text without comments, so that the clock can be swapped.
//
// A script is the body of a function that sees its inputs as locals and returns a
// table of its outputs and whether it wrote. What stands behind a line "-- AFTER" runs
// when the reply was kept, or was found: r is what the body returned, nil where it did
// not run; what is added to r is answered and not kept.
func (s *Source) assemble(part func(string) string) string {
	file, err := s.files.ReadFile(s.Name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	body := string(file)
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
	if s.contract.lists() {
		b.WriteString(part("unpacked"))
	}
	if s.Latched {
		b.WriteString(part("once"))
	}
	parts("-- USES ")
	if strings.Contains(body, "\n-- LATER ") {
		b.WriteString("local function later()\n")
		names := parts("-- LATER ")
		fmt.Fprintf(&b, "return %s\nend\n", names[len(names)-1])
	}
	do, after, hasAfter := strings.Cut(body, "\n-- AFTER\n")
	if !hasAfter {
		do = s.contract.unnamed(stripComments(do))
	}
	s.function(&b, "body(keys, argv)", do)
	if !hasAfter && s.contract.fixed() {
		fmt.Fprintf(&b, "local function run()\nlocal r, wrote = body(KEYS, ARGV)\nif r[1] == nil then r = %s end\nreturn r, wrote\nend\n", s.contract.list("r"))
	} else {
		b.WriteString(s.contract.epilogue())
		b.WriteString("local made\nlocal function run()\nlocal r, wrote = body(KEYS, ARGV)\nmade = r\nreturn reply(r), wrote\nend\n")
	}
	result := "(run())"
	if s.Latched {
		// The fingerprint comes with the latch, behind all other arguments.
		result = fmt.Sprintf("once(KEYS[%d], ARGV[%d], run)", len(s.Keys)+1, len(s.Args)+1)
	}
	if !hasAfter {
		fmt.Fprintf(&b, "return %s\n", result)
		return b.String()
	}
	s.function(&b, "after(keys, argv, r)", after)
	fmt.Fprintf(&b, "local out = %s\nafter(KEYS, ARGV, made)\nreturn made and reply(made) or out\n", result)
	return b.String()
}

// function writes one that sees the script's inputs as locals.
func (s *Source) function(b *strings.Builder, head, body string) {
	fmt.Fprintf(b, "local function %s\n%s%send\n", head, s.contract.prologue(), stripComments(body))
}

// stripped has the texts of parts by their partFile, since many scripts share a part.
var stripped sync.Map

// part is the text of a part without comments: part_<name>.lua of the script's own
// folder, or lib/<name>.lua, which all nouns share.
func (s *Source) part(name string) string {
	if text, ok := strippedFile(s.files, "part_"+name+".lua"); ok {
		return text
	}
	text, ok := strippedFile(lib, "lib/"+name+".lua")
	if !ok {
		panic(fmt.Sprintf("lua: %s: there is no part %s", s.Name, name))
	}
	return text
}

// strippedFile reads a part, once for all scripts of its folder. False = there is none.
func strippedFile(files embed.FS, name string) (string, bool) {
	at := partFile{files, name}
	if text, ok := stripped.Load(at); ok {
		return text.(string), true //nolint:forcetypeassert // nothing else is stored
	}
	body, err := files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	text := stripComments(string(body))
	stripped.Store(at, text)
	return text, true
}

// partFile names a part: two folders may have different ones of one name.
type partFile struct {
	files embed.FS
	name  string
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
