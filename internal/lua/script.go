// Package lua is the script engine: it assembles the texts of scripts from their files and
// from the parts that nouns share (lib), makes KEYS, ARGV and replies by their contracts, and
// runs them, one by one or many in one pipeline.
// It decides which failed tries are repeated, for how long, and which error the caller gets.
//
// Its invariant: shared state changes only inside a script, a script that
// refuses writes nothing, and a script whose outcome is unknown is run again
// only when that cannot count twice.
//
// It has no code for rules or sessions, and never imports coord; connections are
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed lib/*.lua
var lib embed.FS

// Source is the part of a script that the runner needs, without its types.
type Source struct {
	// Name is the file name without .lua; it is also the span and the label.
	Name string
	// Keys, Args and Returns name KEYS, ARGV and the reply's values in order.
	// A test compares them with the header of the file. Keys never name the
	// stored reply, which the runner adds after them.
	Keys, Args, Returns []string
	// Idempotent scripts may be run again after an ambiguous failure.
	Idempotent bool
	// StoresReply scripts wrap their body in once() and so take a request id.
	StoresReply bool

	files    embed.FS
	contract *contract

	// texts make the script in each form, on the server's clock and on the caller's, once
	// each and when it is first needed: a command that opens no store needs none of them.
	texts [2][2]func() *text
	// commands returns the commands that the script runs in Redis.
	commands func() []string
	// takes returns how long one run keeps Redis busy, as the script's header states it after
	// the complexity (the line "-- COST O(1), 12 us: ..."). Runs of such a script go to Redis
	// together when they wait for the same server. Zero = each run goes alone, since its time
	// depends on the data.
	takes func() time.Duration
}

// text is a script as it is sent to Redis, and its name for EVALSHA.
type text struct{ body, sha string }

// Text returns the script as it is sent to Redis: its parts, then its body.
func (s *Source) Text() string { return s.form(forOne, false).body }

// SHA returns the script's name for EVALSHA.
func (s *Source) SHA() string { return s.form(forOne, false).sha }

// form returns the script in a form. With clocked, for Options.Clock, it uses the caller's
// clock instead of the server's: now is then the last argument of an item, in Unix
// microseconds, after the fingerprint if there is one.
func (s *Source) form(f form, clocked bool) *text {
	return s.texts[index(bool(f))][index(clocked)]()
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Script is a Source with its input and output types.
type Script[I, O any] struct {
	*Source
	// put appends KEYS, the stored reply's key unless it is empty, and ARGV. It also returns
	// how many keys there are. The pointers that it appends point into in and stored.
	put func(in *I, stored *string, to []any) (all []any, keys int)
	// read reads a reply into out; the Reply keeps the error of a value that does not fit. A
	// replayed reply may be of an earlier version.
	read func(out *O, r *Reply, replayed bool)
}

var scripts []*Source

// Scripts returns every script, for loading and for tests that visit them all.
// The slice is shared: do not change it.
func Scripts() []*Source { return scripts }

// Define describes a script by its two structs, see contract, and its embedded file.
// If the output is a number or a bool and not a struct, Returns has its name.
//
// The header of the file may name parts that come before the body (the line
// "-- USES clock lock ..."). Making functions takes time at each run, so parts that a script
// rarely needs (the line "-- LATER ...") are put into one function, later, which makes their
// functions and returns the function with the name of the last part. A build that lacks a
// file panics when it opens a store: it must not start.
func Define[I, O any](files embed.FS, src Source) Script[I, O] {
	c := contractOf(reflect.TypeFor[I](), reflect.TypeFor[O](), strings.Join(src.Returns, " "))
	src.Keys, src.Args, src.Returns = c.names()
	src.contract = c
	return Script[I, O]{
		register(files, src),
		func(in *I, stored *string, to []any) ([]any, int) {
			v, first := reflect.ValueOf(in).Elem(), len(to)
			to = c.appendKeys(to, v)
			if *stored != "" {
				to = append(to, stored)
			}
			keys := len(to) - first
			return c.appendArgs(to, v), keys
		},
		func(out *O, r *Reply, replayed bool) { c.readInto(reflect.ValueOf(out).Elem(), r, replayed) },
	}
}

// register makes the texts of a script, each when it is first needed.
func register(files embed.FS, src Source) *Source {
	s := &src
	s.files = files
	for _, f := range []form{forOne, forMany} {
		s.texts[index(bool(f))] = [2]func() *text{s.maker(f, s.part), s.maker(f, func(part string) string {
			if part == "clock" {
				return callersClock(f)
			}
			return s.part(part)
		})}
	}
	s.takes = sync.OnceValue(s.statedCost)
	s.commands = sync.OnceValue(func() []string { return commandsOf(s.Text()) })
	scripts = append(scripts, s)
	return s
}

// maker returns a function that assembles the text of a form once, from parts.
func (s *Source) maker(f form, part func(string) string) func() *text {
	return sync.OnceValue(func() *text {
		body := s.assemble(f, part)
		return &text{body, digest(body)}
	})
}

// statedCost returns the time in the line "-- COST O(...), 20 us: ..." of a script's header; 0 =
// it states none.
func (s *Source) statedCost() time.Duration {
	_, line, _ := strings.Cut(s.file(), "\n-- COST O(")
	line, _, _ = strings.Cut(line, "\n")
	line, _, _ = strings.Cut(line, " us:")
	us, err := strconv.Atoi(line[strings.LastIndex(line, " ")+1:])
	if err != nil {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// commandsOf returns the commands that a script in its form for one runs, such as GET and
// XINFO|GROUPS, sorted. PUBLISH is not among them: scripts run it by pcall, and continue if it
// is denied.
func commandsOf(text string) []string {
	var list []string
	for _, call := range strings.Split(text, "redis.call('")[1:] {
		name, more, _ := strings.Cut(call, "'")
		if name == "XINFO" || name == "XGROUP" {
			sub, _, _ := strings.Cut(strings.TrimPrefix(more, ", '"), "'")
			name += "|" + sub
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// callersClock replaces lib/clock.lua in a script on the caller's clock. All items of one
// run use the time of the last item.
func callersClock(f form) string {
	if f == forMany {
		return "local now = tonumber(ARGV[#ARGV - 2])\n" // the mask and the count of items follow it
	}
	return "local now = tonumber(ARGV[#ARGV])\n"
}

// assemble builds a script's text; part maps the name of a part to its
// text without comments, so that the clock can be replaced.
//
// A script is the body of a function that has its inputs as locals and returns a
// table of its outputs and whether it wrote. The code after a line "-- AFTER" runs
// after the reply was stored, or when a stored reply was found: r is the table that the
// body returned, nil if the body did not run. Fields that this code adds to r are
// returned and not stored.
//
// The form for many runs the same function for each item. The KEYS of the items follow one
// another; ARGV is what redis.AppendColumns makes. The form reads the clock once, and
// returns the list of the items' replies. An error concerns only its item, whose reply is
// then the error's text; no other reply is a text.
func (s *Source) assemble(f form, part func(string) string) string {
	body := s.file()
	var b strings.Builder
	b.Grow(2 * len(body)) // most texts are somewhat longer than their file, with the parts
	parts := func(header string) (names []string) {
		names = headerWords(body, header)
		for _, p := range names {
			b.WriteString(part(p))
		}
		return names
	}
	if s.contract.lists() {
		b.WriteString(part("unpacked"))
	}
	texts := headerWords(body, "-- TEXTS ")
	if s.StoresReply || len(texts) > 0 {
		b.WriteString(part("texts"))
	}
	if s.StoresReply {
		b.WriteString(part("once"))
	}
	parts("-- USES ")
	if strings.Contains(body, "\n-- LATER ") {
		b.WriteString("local function later()\n")
		names := parts("-- LATER ")
		fmt.Fprintf(&b, "return %s\nend\n", names[len(names)-1])
	}
	if f == forMany {
		b.WriteString(s.contract.columns())
	}
	s.readAhead(&b, f, texts, headerWords(body, "-- RARE "))
	do, after, hasAfter := strings.Cut(body, "\n-- AFTER\n")
	if !hasAfter {
		do = s.contract.unnamed(stripComments(do))
	}
	s.function(&b, f, "body()", do)
	if !hasAfter && s.contract.fixed() {
		fmt.Fprintf(&b, "local function run()\nlocal r, wrote = body()\nif r[1] == nil then r = %s end\nreturn r, wrote\nend\n", s.contract.list("r"))
	} else {
		b.WriteString(s.contract.epilogue())
		b.WriteString("local made\nlocal function run()\nlocal r, wrote = body()\nmade = r\nreturn reply(r), wrote\nend\n")
	}
	if hasAfter {
		s.function(&b, f, "after(r)", after)
	}
	kept := "once_kept"
	if text := s.contract.kept(); s.StoresReply && text != "" {
		kept = "kept"
		fmt.Fprintf(&b, "local function kept(r) return %s end\n", text)
	}
	if f == forMany {
		s.many(&b, kept, hasAfter)
		return localized(b.String())
	}
	result := "(run())"
	if s.StoresReply {
		// If there is a stored reply, its fingerprint follows all other arguments.
		result = fmt.Sprintf("once(%s, %s, run, %s)", f.key(len(s.Keys)+1), f.arg(len(s.Args)+1), kept)
	}
	if !hasAfter {
		fmt.Fprintf(&b, "return %s\n", result)
		return b.String()
	}
	fmt.Fprintf(&b, "local out = %s\nafter(made)\nreturn made and reply(made) or out\n", result)
	return b.String()
}

// libraries are the tables of functions that scripts use.
var libraries = []string{"math", "redis", "string", "table"}

// localized puts the library functions that a script uses into locals. The lookup of a
// function in its table takes longer than many a call, and the form for many calls them for
// each item. The search for dots uses no regular expression, which takes several times as
// long: each start of a sidecar does this for all scripts.
func localized(text string) string {
	isWord := func(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
	var names []string
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for i := 0; ; i++ {
		dot := strings.IndexByte(text[i:], '.')
		if dot < 0 {
			break
		}
		i += dot
		from, to := i, i+1
		for from > 0 && isWord(text[from-1]) {
			from--
		}
		for to < len(text) && isWord(text[to]) {
			to++
		}
		name := text[from:to]
		if to == i+1 || !slices.Contains(libraries, text[from:i]) {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		b.WriteString(text[done:i])
		b.WriteByte('_')
		done = i + 1
	}
	b.WriteString(text[done:])
	slices.Sort(names)
	all := strings.Join(append(names, "tonumber", "pcall"), ", ")
	return "local " + strings.ReplaceAll(all, ".", "_") + " = " + all + "\n" + b.String()
}

// headerWords returns the words of all lines that begin with line.
func headerWords(body, line string) (words []string) {
	for text := range strings.Lines(body) {
		if list, ok := strings.CutPrefix(text, line); ok {
			words = append(words, strings.Fields(list)...)
		}
	}
	return words
}

// readAhead writes the code that reads keys of all items at once. One MGET reads the keys of
// the line "-- TEXTS ..." and the stored replies, for text_get. MGET returns nil for a missing
// key and also for a key of another type, so one EXISTS counts the keys for which it returned
// nil. If any of them exists, text_get reads each of these keys with GET, which fails for
// another type. The same EXISTS counts the keys of the line "-- RARE ...", which mostly do not
// exist: the local rare is true if one of them may exist.
func (s *Source) readAhead(b *strings.Builder, f form, texts, rare []string) {
	if len(texts)+len(rare) == 0 {
		return
	}
	if f == forOne {
		b.WriteString("local count, keys = 1, #KEYS\n")
	}
	b.WriteString("local ahead, asked, n, m, rare = {}, {}, 0, 0, false\nfor i = 0, (count - 1) * keys, keys do\n")
	for _, at := range s.positions(texts) {
		fmt.Fprintf(b, "n = n + 1\nahead[n] = KEYS[i + %s]\n", at)
	}
	for _, at := range s.positions(rare) {
		fmt.Fprintf(b, "m = m + 1\nasked[m] = KEYS[i + %s]\n", at)
	}
	b.WriteString("end\nlocal rares = m\n")
	if s.StoresReply {
		stored := len(s.Keys) + 1
		fmt.Fprintf(b, "if keys == %d then\nfor i = %d, count * keys, keys do\nn = n + 1\nahead[n] = KEYS[i]\nend\nend\n", stored, stored)
	}
	b.WriteString(`for i, text in ipairs(redis.call('MGET', unpack(ahead))) do
texts[ahead[i]] = text
if not text then
m = m + 1
asked[m] = ahead[i]
end
end
if m > 0 and redis.call('EXISTS', unpack(asked)) > 0 then
rare = true
for i = rares + 1, m do texts[asked[i]] = nil end
end
`)
}

// positions returns the positions of keys among those of an item.
func (s *Source) positions(names []string) (at []string) {
	for _, name := range names {
		i := slices.Index(s.Keys, name)
		if i < 0 {
			panic(fmt.Sprintf("lua: %s: its header names %s, which is no key", s.Name, name))
		}
		at = append(at, strconv.Itoa(i+1))
	}
	return at
}

// file returns the text of the script's file.
func (s *Source) file() string {
	text, err := s.files.ReadFile(s.Name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	return string(text)
}

// many writes the loop over items. All of them have a stored reply, or none has.
func (s *Source) many(b *strings.Builder, kept string, hasAfter bool) {
	result := "(run())"
	if s.StoresReply {
		stored := len(s.Keys) + 1
		fmt.Fprintf(b, "local stored = keys == %d\n", stored)
		result = fmt.Sprintf("once(stored and %s, stored and %s, run, %s)", forMany.key(stored), forMany.arg(len(s.Args)+1), kept)
	}
	if hasAfter {
		fmt.Fprintf(b, "local function item()\nmade = nil\nlocal out = %s\nafter(made)\nreturn made and reply(made) or out\nend\n", result)
	} else {
		fmt.Fprintf(b, "local function item() return %s end\n", result)
	}
	b.WriteString("local out = {}\nfor i = 1, count do\nlocal ok, reply = pcall(item)\n" +
		"out[i] = ok and reply or type(reply) == 'table' and reply.err or tostring(reply)\n" +
		"key0, at = key0 + keys, at + 1\nend\nreturn out\n")
}

// function writes a Lua function that has the script's inputs as locals.
func (s *Source) function(b *strings.Builder, f form, head, body string) {
	fmt.Fprintf(b, "local function %s\n%s%send\n", head, s.contract.prologue(f), stripComments(body))
}

// stripped caches the texts of parts by their partFile, since many scripts share a part; empty for a file that does not exist.
var stripped sync.Map

// part returns the text of a part without comments: part_<name>.lua of the script's own
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

// strippedFile reads a part, once for all scripts of its folder. It returns false if there is
// none.
func strippedFile(files embed.FS, name string) (string, bool) {
	at := partFile{files, name}
	if known, ok := stripped.Load(at); ok {
		text := known.(string) //nolint:forcetypeassert // nothing else is stored
		return text, text != ""
	}
	body, err := files.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(fmt.Sprintf("lua: %v", err))
	}
	text := stripComments(string(body))
	stripped.Store(at, text)
	return text, text != ""
}

// partFile identifies a part: two folders may have different parts of the same name.
type partFile struct {
	files embed.FS
	name  string
}

// stripComments drops whole-line comments: they are for readers of the source,
// and Redis keeps every script's text in memory.
func stripComments(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 1)
	for line := range strings.SplitSeq(text, "\n") {
		if t := strings.TrimSpace(line); t == "" || strings.HasPrefix(t, "--") {
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
