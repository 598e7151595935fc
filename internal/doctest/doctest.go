// Package doctest checks that everything that the Markdown pages refer to exists: relative
// links with their anchors, paths of files and folders, `make` targets, and Go tests. It
// also finds the code blocks of a page, which tests compare with files.
//
// Its invariant: if a change moves or renames a file that a page names, the tests of
// that change fail.
package doctest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quoted = regexp.MustCompile("`([^`\n]+)`")
	target = regexp.MustCompile(`^make ([a-z0-9-]+)`)
	// named matches text in code style that can only be a path of this tree.
	named = regexp.MustCompile(`^(?:clients?|cmd|internal|hack|bench|docs|examples|tools|\.ci)/[\w./*-]*$`)
	// file matches a bare file name, which must exist somewhere in the tree.
	file = regexp.MustCompile(`^[\w-]+(?:\.\w+)*\.(?:go|lua|md|sh|yml|yaml)$`)
	rule = regexp.MustCompile(`^([a-z0-9-]+):.*##`)
	// test matches the name of a Go test, and tested its definition.
	test   = regexp.MustCompile(`^Test[A-Z]\w+$`)
	tested = regexp.MustCompile(`(?m)^func (Test\w+)\(\w \*testing\.[MT]\)`)
)

// Check returns everything that a page of the tree refers to and that does not exist, sorted.
func Check(tree fs.FS) ([]string, error) {
	c := checker{tree: tree, names: map[string]bool{}, targets: map[string]bool{}, tests: map[string]bool{}}
	var pages []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || p == "bin"):
			return fs.SkipDir
		case path.Ext(p) == ".md":
			pages = append(pages, p)
		case strings.HasSuffix(p, "_test.go"):
			if err := c.readTests(p); err != nil {
				return err
			}
		}
		c.names[d.Name()] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("doctest: %w", err)
	}
	if err := c.readTargets(); err != nil {
		return nil, fmt.Errorf("doctest: %w", err)
	}
	for _, p := range pages {
		b, err := fs.ReadFile(tree, p)
		if err != nil {
			return nil, fmt.Errorf("doctest: %w", err)
		}
		c.page(p, string(b))
	}
	slices.Sort(c.broken)
	return c.broken, nil
}

type checker struct {
	tree    fs.FS
	names   map[string]bool // of all files, without their folders
	targets map[string]bool // of the Makefile, those that help lists
	tests   map[string]bool // of Go
	broken  []string
}

func (c *checker) readTargets() error {
	b, err := fs.ReadFile(c.tree, "Makefile")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if m := rule.FindStringSubmatch(line); m != nil {
			c.targets[m[1]] = true
		}
	}
	return nil
}

func (c *checker) readTests(p string) error {
	b, err := fs.ReadFile(c.tree, p)
	for _, m := range tested.FindAllSubmatch(b, -1) {
		c.tests[string(m[1])] = true
	}
	return err
}

func (c *checker) page(p, text string) {
	prose := withoutBlocks(text)
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		c.link(p, m[1])
	}
	for _, m := range quoted.FindAllStringSubmatch(prose, -1) {
		c.name(p, m[1])
	}
}

// link checks a relative link, and its anchor when the target is a page.
func (c *checker) link(p, to string) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return
	}
	name, anchor, _ := strings.Cut(to, "#")
	at := p
	if name != "" {
		at = path.Join(path.Dir(p), name)
	}
	b, err := fs.ReadFile(c.tree, at)
	if err != nil {
		if _, err := fs.Stat(c.tree, at); err != nil || anchor != "" {
			c.add("%s links to %s, which does not exist", p, to)
		}
		return
	}
	if anchor != "" && !slices.Contains(anchors(string(b)), anchor) {
		c.add("%s links to %s, which has no such heading", p, to)
	}
}

// name checks text in code style that names a file, a folder or a target.
func (c *checker) name(p, text string) {
	if m := target.FindStringSubmatch(text); m != nil {
		if !c.targets[m[1]] {
			c.add("%s names `make %s`, which is not a target of the Makefile", p, m[1])
		}
		return
	}
	text = strings.TrimSuffix(text, "/...")
	switch {
	case named.MatchString(text):
		if found, err := fs.Glob(c.tree, strings.TrimSuffix(text, "/")); err != nil || len(found) == 0 {
			c.add("%s names %s, which does not exist", p, text)
		}
	case test.MatchString(text) && !c.tests[text]:
		c.add("%s names %s, which is not a Go test", p, text)
	case file.MatchString(text) && !c.names[text]:
		c.add("%s names %s, which does not exist in the tree", p, text)
	}
}

func (c *checker) add(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
}

// withoutBlocks removes fenced code, which is not text of the page.
func withoutBlocks(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

var notInAnchor = regexp.MustCompile(`[^\w\- ]`)

// anchors returns the anchors of the headings of a page.
func anchors(text string) []string {
	var all []string
	for line := range strings.Lines(withoutBlocks(text)) {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			h = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(h)), "")
			all = append(all, strings.ReplaceAll(h, " ", "-"))
		}
	}
	return all
}

// Blocks returns the fenced blocks of a page in the given language.
func Blocks(text, language string) []string {
	var blocks []string
	var b *strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case b == nil && strings.TrimSpace(line) == "```"+language:
			b = new(strings.Builder)
		case b != nil && strings.HasPrefix(line, "```"):
			blocks = append(blocks, b.String())
			b = nil
		case b != nil:
			b.WriteString(line)
		}
	}
	return blocks
}
