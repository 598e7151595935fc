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

// maxRuleFiles is far more than users mount, and few enough to read at each reload.
const maxRuleFiles = 64

// itemsPath is the path of the list that has every rule of a Config, whichever file it is from.
const itemsPath = "rules.items"

// imported is the origin of one rule: a file of rules.files, and the index in its list.
type imported struct {
	from  *source
	index int
}

// importRules appends the rules of rules.files to those of the file itself, and
// adds to misread the paths of fields that could not be read.
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

// readRules reads one of rules.files. It returns an error only if the file cannot be read; mistakes in the file are in
// the source.
func (c *Config) readRules(name string, number int, opened func(string, fs.FileInfo)) (*source, []api.Rule, error) {
	// Opening a pipe would block until a writer opens it.
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

// adopt adds the rules of a file to c. Their lines and misread fields get the paths
// that the rules have in c.
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

// withLine sets a line in a map, which it makes if it is nil.
func withLine(lines map[string]int, path string, line int) map[string]int {
	if lines == nil {
		lines = map[string]int{}
	}
	lines[path] = line
	return lines
}

// twice finds rules of two files with the same name; the check of the rules finds
// those of one file. The problem names the places of both rules, since one file
// does not show where the other rule is.
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

// importedAs returns the file of a rule with a path in c, and the path in that file.
func (c *Config) importedAs(path string) (*source, string, bool) {
	index, rest, ok := itemIndex(path, itemsPath)
	index -= c.own
	if !ok || index < 0 || index >= len(c.imported) {
		return nil, "", false
	}
	x := c.imported[index]
	return x.from, fmt.Sprintf("items[%d]%s", x.index, rest), true
}

// itemIndex splits list[7].name into 7 and .name.
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
// rules.files: it has at least one section of Config. A file that cannot be read is not.
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

// LoadRules reads files of rules without a configuration, as if they were in rules.files.
// The error is a Problems with all mistakes of all files.
func LoadRules(files []string, checks ...Check) ([]api.Rule, error) {
	c := Default()
	c.Rules.Files = files
	loaded, err := finish(&c, &source{}, environment{}, Sources{Opened: func(string, fs.FileInfo) {}}, checks)
	if err != nil {
		return nil, err
	}
	return loaded.Rules.Items, nil
}
