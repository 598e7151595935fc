package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// maxRuleFiles is far more than anybody mounts, and few enough to read at each reload.
const maxRuleFiles = 64

// itemsPath is where every rule is in a Config, whichever file it is from.
const itemsPath = "rules.items"

// imported is where one rule of rules.files is from: its place there.
type imported struct {
	from  *source
	index int
}

// importRules appends the rules of rules.files to those of the file itself, and
// adds to misread what could not be read of them.
func (c *Config) importRules(s *source, misread map[string]bool, opened func(string, fs.FileInfo)) []Problem {
	c.own = len(c.Rules.Items)
	if n := len(c.Rules.Files); n > maxRuleFiles {
		return []Problem{s.locate(c, Problem{Path: "rules.files", Message: fmt.Sprintf(
			"has %d files; put the rules into at most %d", n, maxRuleFiles)})}
	}
	var problems []Problem
	for i, name := range c.Rules.Files {
		if !filepath.IsAbs(name) && c.file != "" {
			name = filepath.Join(filepath.Dir(c.file), name)
		}
		r, rules, err := c.readRules(name, i+1, opened)
		if err != nil {
			at := fmt.Sprintf("rules.files[%d]", i)
			if from := c.from["rules.files"]; from != "" {
				c.from[at] = from
			}
			problems = append(problems, s.locate(c, Problem{Path: at, Message: fmt.Sprintf(
				"%s cannot be read: %v; put the file there or take it off the list", name, err)}))
			continue
		}
		c.adopt(r, rules, misread)
		problems = append(problems, r.problems...)
	}
	return append(problems, c.twice(s, misread)...)
}

// readRules reads one of rules.files. Its error is that there is nothing to read.
func (c *Config) readRules(name string, number int, opened func(string, fs.FileInfo)) (*source, []api.Rule, error) {
	// Opening a pipe would wait for whoever writes into it.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		opened(name, info)
		return nil, nil, fmt.Errorf("it is no regular file")
	}
	b, info, err := readAll(name, opened)
	if err != nil {
		return nil, nil, bare(err)
	}
	if info.ModTime().After(c.modified) {
		c.modified = info.ModTime()
	}
	var file struct {
		Items []api.Rule `yaml:"items"`
	}
	s := &source{name: name, number: number}
	if err := s.parse(b, reflect.ValueOf(&file).Elem()); err != nil {
		s.problems = append(s.problems, err.(Problems)...) //nolint:errorlint,forcetypeassert // parse has no other errors
	}
	return s, file.Items, nil
}

// adopt takes over the rules of a file, their lines and what is misread of them
// under the paths that they have in c.
func (c *Config) adopt(s *source, rules []api.Rule, misread map[string]bool) {
	base := len(c.Rules.Items)
	here := func(path string) string {
		index, rest, ok := itemIndex(path, "items")
		if !ok {
			return ""
		}
		return fmt.Sprintf("%s[%d]%s", itemsPath, base+index, rest)
	}
	for path, line := range s.lines {
		if p := here(path); p != "" {
			c.lines = withLine(c.lines, p, line)
		}
	}
	for _, p := range s.problems {
		if p := here(p.Path); p != "" {
			misread[p] = true
		}
	}
	for i := range rules {
		c.imported = append(c.imported, imported{s, i})
	}
	c.Rules.Items = append(c.Rules.Items, rules...)
}

// withLine sets a line in a map that may not be there yet.
func withLine(lines map[string]int, path string, line int) map[string]int {
	if lines == nil {
		lines = map[string]int{}
	}
	lines[path] = line
	return lines
}

// twice finds names that two files give to a rule; a name twice in one file is
// left to the check of the rules. Nobody who reads one of the files could guess
// where the other rule is, so both places are named.
func (c *Config) twice(s *source, misread map[string]bool) []Problem {
	var problems []Problem
	first := make(map[string]int, len(c.Rules.Items))
	for i, r := range c.Rules.Items {
		at := fmt.Sprintf("%s[%d].name", itemsPath, i)
		j, dup := first[r.Name]
		if !dup {
			first[r.Name] = i
			continue
		}
		other := s.locate(c, Problem{Path: fmt.Sprintf("%s[%d].name", itemsPath, j)})
		p := s.locate(c, Problem{Path: at, Message: fmt.Sprintf(
			"%q is also the name of the rule at %s; give each rule its own name", r.Name, other.Where)})
		if r.Name != "" && other.file != p.file {
			problems = append(problems, p)
			misread[at] = true
		}
	}
	return problems
}

// importedAs translates the path of a rule in c to its file and its path there.
func (c *Config) importedAs(path string) (*source, string, bool) {
	index, rest, ok := itemIndex(path, itemsPath)
	index -= c.own
	if !ok || index < 0 || index >= len(c.imported) {
		return nil, "", false
	}
	x := c.imported[index]
	return x.from, fmt.Sprintf("items[%d]%s", x.index, rest), true
}

// itemIndex takes list[7].name apart into 7 and .name.
func itemIndex(path, list string) (index int, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, list+"[")
	if !ok {
		return 0, "", false
	}
	number, rest, ok := strings.Cut(path, "]")
	index, err := strconv.Atoi(number)
	return index, rest, ok && err == nil
}

// IsWhole reports whether a file is a whole configuration rather than one of
// rules.files: whether it has any of its sections. What cannot be read is none.
func IsWhole(file string) bool {
	b, _, err := readAll(file, func(string, fs.FileInfo) {})
	if err != nil || len(b) > maxFileBytes {
		return false
	}
	f, err := parser.ParseBytes(bytes.TrimPrefix(b, []byte(byteOrderMark)), 0)
	if err != nil {
		return false
	}
	body, _ := documents(f)
	m, ok := body.(ast.MapNode)
	if !ok {
		return false
	}
	sections := keys(reflect.TypeFor[Config]())
	for it := m.MapRange(); it.Next(); {
		if slices.Contains(sections, it.Key().GetToken().Value) {
			return true
		}
	}
	return false
}

// LoadRules reads files of rules alone, as rules.files would. The error is a
// Problems with every mistake of every file.
func LoadRules(files []string, checks ...Check) ([]api.Rule, error) {
	c := Default()
	c.Rules.Files = files
	loaded, err := finish(&c, &source{}, environment{}, Sources{Opened: func(string, fs.FileInfo) {}}, checks)
	if err != nil {
		return nil, err
	}
	return loaded.Rules.Items, nil
}
