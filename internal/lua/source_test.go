package lua_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// sources returns the texts of all scripts and parts by their paths below internal.
func sources(t *testing.T) map[string]string {
	tree, out := os.DirFS(".."), map[string]string{}
	for _, where := range []string{"coord/*/*.lua", "lua/lib/*.lua", probeFile} {
		files, err := fs.Glob(tree, where)
		require.NoError(t, err)
		require.NotEmpty(t, files, where)
		for _, f := range files {
			b, err := fs.ReadFile(tree, f)
			require.NoError(t, err)
			out[f] = string(b)
		}
	}
	return out
}

// probeFile is the script of the transport, to which the rules for scripts apply too.
const probeFile = "redis/probe.lua"

// everyScript returns all scripts with the paths of their files. It fails if a file has no script here, which is also
// so if this package does not import its noun.
func everyScript(t *testing.T) map[*lua.Source]string {
	t.Helper()
	files := map[string]string{} // by the names of scripts
	for file := range sources(t) {
		if name := strings.TrimSuffix(path.Base(file), ".lua"); strings.HasPrefix(file, "coord/") && !strings.HasPrefix(name, "part_") {
			require.Empty(t, files[name], "%s: another script has its name", file)
			files[name] = file
		}
	}
	all := map[*lua.Source]string{}
	for _, src := range lua.Scripts() {
		require.NotEmpty(t, files[src.Name], "%s has no file in the folder of a noun", src.Name)
		all[src] = files[src.Name]
		delete(files, src.Name)
	}
	require.Empty(t, files, "these have no descriptor, or internal/lua/nouns_test.go lacks their noun")
	return all
}

// headerShape is the fixed order of a script's header, after its purpose; mayLack are the lines that may be absent.
var headerShape = []string{"USES", "TEXTS", "RARE", "LATER", "KEYS", "ARGV", "RETURNS", "TTL", "COST"}

var mayLack = []string{"TEXTS", "RARE", "LATER"}

// header splits a script's leading comment into its purpose and its sections.
func header(text string) (purpose string, order []string, sections map[string]string) {
	sections = map[string]string{}
	for line := range strings.Lines(text) {
		body, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "--")
		if !ok {
			return purpose, order, sections
		}
		word, rest, _ := strings.Cut(strings.TrimPrefix(body, " "), " ")
		switch {
		case slices.Contains(headerShape, word):
			if !slices.Contains(order, word) {
				order = append(order, word)
			}
			sections[word] += " " + rest // there may be two lines of USES
		case len(order) == 0:
			purpose += strings.TrimSpace(body) + " "
		default:
			sections[order[len(order)-1]] += " " + strings.TrimSpace(body)
		}
	}
	return purpose, order, sections
}

// names returns the first words of a section's items, without "then for each:".
func names(section string) []string {
	var out []string
	note := regexp.MustCompile(`\([^)]*\)|then for each:`)
	for item := range strings.SplitSeq(note.ReplaceAllString(section, ""), ";") {
		if f := strings.Fields(item); len(f) > 0 {
			out = append(out, f[0])
		}
	}
	return out
}

func TestHeadersAgreeWithTheContracts(t *testing.T) {
	t.Parallel()
	texts := sources(t)
	probe := &lua.Source{Name: "probe", Keys: []string{"scratch"}, Args: []string{"commands"}, Returns: []string{"unknown", "denied"}}
	all := everyScript(t)
	all[probe] = probeFile
	for src, file := range all {
		if *luatest.Update && src != probe {
			writeHeader(t, src, file, texts)
		}
		purpose, order, sections := header(texts[file])
		require.Regexp(t, `^[A-Z].*\. $`, purpose, "%s: the header starts with the script's purpose, a sentence", src.Name)
		shape := slices.DeleteFunc(slices.Clone(headerShape), func(s string) bool { return slices.Contains(mayLack, s) && sections[s] == "" })
		require.Equal(t, shape, order, "%s: the header's sections", src.Name)
		require.Equal(t, src.Keys, names(sections["KEYS"]), "%s: KEYS", src.Name)
		require.Equal(t, src.Args, names(sections["ARGV"]), "%s: ARGV", src.Name)
		require.Equal(t, src.Returns, names(sections["RETURNS"]), "%s: RETURNS", src.Name)
		require.NotEmpty(t, sections["TTL"], "%s: TTL", src.Name)
		require.Regexp(t, `^ O\(`, sections["COST"], "%s: COST", src.Name)
	}
}

// writeHeader writes a script's contract into its header.
func writeHeader(t *testing.T, src *lua.Source, name string, texts map[string]string) {
	text := texts[name]
	from, to := strings.Index(text, "-- KEYS"), strings.Index(text, "-- TTL")
	require.True(t, 0 < from && from < to, "%s: the header has no KEYS before TTL", name)
	var b strings.Builder
	for _, section := range []struct {
		name  string
		words []string
	}{{"KEYS", src.Keys}, {"ARGV", src.Args}, {"RETURNS", src.Returns}} {
		line := "-- " + section.name
		for i, word := range section.words {
			if i > 0 {
				line += ";"
			}
			if len(line)+len(word) > 130 {
				b.WriteString(line + "\n")
				line = "--     "
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	texts[name] = text[:from] + b.String() + text[to:]
	require.NoError(t, os.WriteFile(filepath.Join("..", name), []byte(texts[name]), 0o600))
}

func TestEveryFileIsAScriptOrAPartOfOne(t *testing.T) {
	t.Parallel()
	// These parts are used by contracts, not by a USES line.
	texts, used := sources(t), map[string]bool{probeFile: true, "lua/lib/unpacked.lua": true, "lua/lib/once.lua": true}
	for _, file := range everyScript(t) {
		_, _, sections := header(texts[file])
		used[file] = true
		for _, part := range strings.Fields(sections["USES"] + " " + sections["LATER"]) {
			of := path.Join(path.Dir(file), "part_"+part+".lua")
			if texts[of] == "" {
				of = "lua/lib/" + part + ".lua"
			}
			used[of] = true
		}
	}
	for name, text := range texts {
		require.True(t, used[name], "%s has no descriptor and no script uses it", name)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len(line), 141, "%s: %s", name, line)
		}
	}
}

// asksForRights is the only allowed pcall whose error is used. The embedded store lacks redis.acl_check_cmd, so the
// probe does not call it there.
const asksForRights = "local known, may = pcall(redis.acl_check_cmd, command, sub ~= '' and sub or scratch_key, scratch_key)"

// namesInputs is the line of the probe that names its inputs, since its text is not assembled.
const namesInputs = "local scratch_key, commands = KEYS[1], ARGV[1]"

// forbidden is what scripts must not use, and why.
var forbidden = []struct{ pattern, why string }{
	{`\b(cmsgpack|bit|struct|cjson)\.`, "the embedded store lacks it, or it rounds numbers"},
	{`\btostring\b`, "Redis keeps 14 digits of a number: string.format with %d or %.0f"},
	{`[^.]\.\.[^.]`, "joining keeps 14 digits of a number: table.concat of formatted ones"},
	{`string\.format\('[^']*%[^d.]`, "%s cuts at NUL and other verbs round: %d or %.0f"},
	{`string\.format\('[^']*%\.[^0]`, "integers have no fraction: %.0f"},
	{`\b(os|io|debug)\.|\bmath\.random`, "a script depends on its state, arguments and clock only"},
	{`\b(load|loadstring|dofile|require|setmetatable)\b`, "a script is one plain text"},
	{`redis\.(setresp|replicate_commands|set_repl|breakpoint|debug|log|sha1hex)`, "the embedded store lacks it, or it is not for scripts"},
	{`'(SPUBLISH|INFO|KEYS|SCAN|DUMP|FLUSHALL|FLUSHDB|CONFIG)'`, "the embedded store lacks it, or it is not for scripts"},
	{`'XADD'.*'LIMIT'`, "the embedded store lacks it"},
	{`'(EXPIRE|EXPIREAT|SETEX|EX)'`, "TTLs are milliseconds"},
	{`(^|[^.])\bpcall\(|\.pcall\('([^P]|P[^U])`, "its errors come back differently on the embedded store; only PUBLISH may fail"},
	{`\b(KEYS|ARGV)\b`, "a script sees its inputs by their names, and a part is given them"},
	{`return\s*\{[^}]*\bnil\b`, "a nil ends the reply"},
}

func TestScriptsUseOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	for name, text := range sources(t) {
		require.Equal(t, name == "lua/lib/clock.lua", strings.Contains(text, "'TIME'"), "%s: lua/lib/clock.lua alone reads the time", name)
		for line := range strings.Lines(text) {
			code := strings.TrimSpace(line)
			if strings.HasPrefix(code, "--") {
				continue
			}
			require.NotContains(t, code, "--", "%s: comments stand on lines of their own, which are not sent", name)
			for _, f := range forbidden {
				if name == probeFile && (code == asksForRights || code == namesInputs) {
					continue
				}
				require.NotRegexp(t, f.pattern, code, "%s: %s", name, f.why)
			}
		}
	}
}

// TestForbiddenIsFound requires that a pattern matches each of these mistakes.
func TestForbiddenIsFound(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"cjson.encode(v)", "tostring(now)", "'t' .. now", "string.format('%s', v)", "string.format('%.3f', v)",
		"os.clock()", "load(ARGV[1])", "redis.setresp(3)", "redis.call('INFO')", "redis.call('XADD', k, 'MAXLEN', 5, 'LIMIT', 9)",
		"redis.call('EXPIRE', k, 1)", "redis.pcall('GET', k)", "redis.pcall('PEXPIRE', k)", "local cost = ARGV[1]", "redis.call('GET', KEYS[1])", "return {1, nil, 2}",
	} {
		found := slices.ContainsFunc(forbidden, func(f struct{ pattern, why string }) bool {
			return regexp.MustCompile(f.pattern).MatchString(code)
		})
		require.True(t, found, code)
	}
}

// TestScriptTexts: the texts that are sent have no comments, and only clocked texts use the caller's clock.
func TestScriptTexts(t *testing.T) {
	t.Parallel()
	texts := sources(t)
	for src, file := range everyScript(t) {
		clocked, sha := lua.Clocked(src, false)
		require.NotContains(t, src.Text(), "--", src.Name)
		require.NotContains(t, src.Text(), "ARGV[#ARGV]", src.Name)
		require.NotContains(t, clocked, "'TIME'", src.Name)
		require.Len(t, sha, 40)
		_, _, sections := header(texts[file])
		if slices.Contains(strings.Fields(sections["USES"]), "clock") {
			require.Equal(t, 1, strings.Count(src.Text(), "'TIME'"), "%s reads the time once", src.Name)
			require.Contains(t, clocked, "ARGV[#ARGV]", src.Name)
			require.NotEqual(t, src.SHA(), sha, src.Name)
		}
	}
}
