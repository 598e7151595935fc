package config_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// beside writes files into one folder and returns the path of the first.
func beside(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
	}
	return filepath.Join(dir, files[0])
}

func names(c *config.Config) []string {
	var all []string
	for _, r := range c.Rules.Items {
		all = append(all, r.Name)
	}
	return all
}

func TestTheRulesOfAllFilesAreOneSet(t *testing.T) {
	t.Parallel()
	file := beside(t, "c.yaml", "rules:\n  files: [a.yaml, b.yaml, empty.yaml]\n  items:\n    - name: own\n",
		"a.yaml", "items:\n  - name: a1\n  - name: a2\n", "b.yaml", "items: [{name: b1}]\n", "empty.yaml", "")
	b := filepath.Join(filepath.Dir(file), "b.yaml")
	latest := time.UnixMilli(4_000_000_000_123)
	require.NoError(t, os.Chtimes(b, time.Time{}, latest))
	opened := map[string]bool{}
	c, err := config.Load(config.Sources{File: file, Opened: func(name string, state fs.FileInfo) {
		opened[filepath.Base(name)] = state != nil
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"own", "a1", "a2", "b1"}, names(c))
	require.True(t, latest.Equal(c.Modified()), c.Modified())
	require.Equal(t, map[string]bool{"c.yaml": true, "a.yaml": true, "b.yaml": true, "empty.yaml": true}, opened)
	require.Equal(t, 3, c.Line("rules.items[2].limits"), "the line in a.yaml")
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), "a1", "printed, it would be there twice once it is loaded again")
	require.Contains(t, out.String(), "name: own")

	c, err = config.Load(config.Sources{Env: []string{"COXSWAIN_RULES_FILES=" + b}})
	require.NoError(t, err)
	require.Equal(t, []string{"b1"}, names(c), "by the environment alone")
}

func TestMistakesOfARulesFileHaveItsLines(t *testing.T) {
	t.Parallel()
	file := beside(t, "c.yaml", "rules:\n  items:\n    - {nam: a}\n  files: [a.yaml, gone.yaml, b.yaml]\nhttp: {addr: x}\n",
		"a.yaml", "items:\n  - name: a\n    limits:\n      - {limit: many}\n  - name: late\nrules: []\n", "b.yaml", "items: [\n")
	got := problems(t, config.Sources{File: file}, func(*config.Config) []config.Problem {
		return []config.Problem{
			{Path: "rules.items[1].limits[0].limit", Message: "misread, so not also this"},
			{Path: "rules.items[2].algorithm", Message: "missing"},
		}
	})
	require.Equal(t, `c.yaml:3: rules.items[0].nam: unknown key; did you mean name?
      3 |     - {nam: a}
c.yaml:4: rules.files[1]: gone.yaml cannot be read: no such file or directory; put the file there or take it off the list
      4 |   files: [a.yaml, gone.yaml, b.yaml]
c.yaml:5: http.addr: "x" is not host:port; write one such as :8086 or 127.0.0.1:8086
      5 | http: {addr: x}
a.yaml:4: items[0].limits[0].limit: "many" is not a whole number; write it in decimal digits, such as 10
      4 |       - {limit: many}
a.yaml:5: items[1].algorithm: missing
      5 |   - name: late
a.yaml:6: rules: unknown key; known here: items
      6 | rules: []
b.yaml:1: not YAML: sequence end token ']' not found
      1 | items: [`, got)
}

func TestANameInTwoFilesNamesBothPlaces(t *testing.T) {
	t.Parallel()
	file := beside(t, "c.yaml", "rules:\n  files: [a.yaml, b.yaml]\n  items:\n    - name: x\n",
		"a.yaml", "items:\n  - name: y\n  - name: x\n", "b.yaml", "items:\n  - name: y\n")
	got := problems(t, config.Sources{File: file}, func(*config.Config) []config.Problem {
		return []config.Problem{{Path: "rules.items[2].name", Message: "said once is enough"}}
	})
	require.Equal(t, `a.yaml:3: items[1].name: "x" is also the name of the rule at c.yaml:4; give each rule its own name
      3 |   - name: x
b.yaml:2: items[0].name: "y" is also the name of the rule at a.yaml:2; give each rule its own name
      2 |   - name: y`, got)
}

func TestRulesFilesThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	require.Equal(t, "COXSWAIN_RULES_FILES: rules.files[0]: "+dir+"/pipe cannot be read: it is no regular file; put the file there or take it off the list\n"+
		"COXSWAIN_RULES_FILES: rules.files[1]: "+dir+" cannot be read: it is no regular file; put the file there or take it off the list",
		problems(t, config.Sources{Env: []string{"COXSWAIN_RULES_FILES=" + dir + "/pipe," + dir}}))
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("%d.yaml", i))
	}
	require.Equal(t, "c.yaml:1: rules.files: has 65 files; put the rules into at most 64\n      1 | rules: {files: ["+strings.Join(many, ", ")+"]}",
		problems(t, config.Sources{File: write(t, "rules: {files: ["+strings.Join(many, ", ")+"]}\n")}))
}

// Some editors put a byte order mark before UTF-8.
func TestAFileMayBeginWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	file := beside(t, "c.yaml", "\ufeffrules:\n  files: [a.yaml]\n  items:\n    - name: own\n", "a.yaml", "\ufeffitems:\n  - name: a1\n")
	c, err := config.Load(config.Sources{File: file})
	require.NoError(t, err)
	require.Equal(t, []string{"own", "a1"}, names(c))
	_, err = config.Load(config.Sources{File: beside(t, "c.yaml", "\ufeffredis:\n  uri: x\n")})
	require.ErrorContains(t, err, "c.yaml:2: redis.uri: unknown key; did you mean url?")
	require.True(t, config.IsWhole(file))
	require.False(t, config.IsWhole(filepath.Join(filepath.Dir(file), "a.yaml")))
	require.False(t, config.IsWhole(file+".gone"))
}

// Print escapes characters that are not printable; a configuration that is read again is the same.
func TestAPrintedConfigurationDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	const rules = "rules:\n  items:\n    - name: a\n      deny:\n        - glob: \"x\\e[2J\\u009b\\u202e\\n*\"\n        - glob: 'yes'\n"
	c, err := config.Load(config.Sources{File: beside(t, "c.yaml", rules)})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.Print(&b))
	require.NotRegexp(t, "[\x1b\u009b\u202e]", b.String())
	again, err := config.Load(config.Sources{File: beside(t, "c.yaml", b.String())})
	require.NoError(t, err, b.String())
	require.Equal(t, []api.Match{{Glob: "x\x1b[2J\u009b\u202e\n*"}, {Glob: "yes"}}, again.Rules.Items[0].Deny)
}
