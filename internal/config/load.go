package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
)

// Sources are all sources of a configuration; later ones override earlier ones.
type Sources struct {
	// File is the YAML file; empty means the one that COXSWAIN_CONFIG names, if any.
	File string
	// Env is the environment, as os.Environ returns it.
	Env []string
	// Flags are those that were given.
	Flags []Flag
	// Opened, if it is set, is called with every file before the file is read, whether or
	// not the configuration is valid. The state of a file that cannot be opened is nil.
	Opened func(path string, state fs.FileInfo)
}

// Flag is one flag that was given: its name with dashes, the path that it sets,
// and its value.
type Flag struct{ Name, Path, Value string }

// Check finds mistakes of a configuration that this package cannot find, such as
// rules that contradict themselves. Its problems have Path and Message.
type Check func(*Config) []Problem

// Load reads and validates a configuration. The error is a Problems with all
// mistakes of all sources.
func Load(src Sources, checks ...Check) (*Config, error) {
	c := Default()
	if src.Opened == nil {
		src.Opened = func(string, fs.FileInfo) {}
	}
	env := newEnvironment(src.Env)
	file := src.File
	if file == "" {
		file = env[EnvConfig]
	}
	s := &source{}
	if file != "" {
		var err error
		if s, err = readFile(file, &c, src.Opened); err != nil {
			return nil, err
		}
	}
	return finish(&c, s, env, src, checks)
}

func finish(c *Config, s *source, env environment, src Sources, checks []Check) (*Config, error) {
	c.file, c.lines, c.from = s.name, s.lines, map[string]string{}
	all := settings(c)
	problems := slices.Concat(s.problems, env.apply(all, c.from), applyFlags(src.Flags, all, c.from))
	trim(all)
	if c.lines[minIdlePath] == 0 && c.from[minIdlePath] == "" {
		// min_idle is not set: lower its default to the pool's maximum, so that a small pool alone is no mistake.
		c.Redis.Pool.MinIdle = min(c.Redis.Pool.MinIdle, max(c.Redis.Pool.Max, 1))
	}
	misread := make(map[string]bool, len(problems))
	for _, p := range problems {
		misread[p.Path] = true
	}
	problems = append(problems, c.importRules(s, misread, src.Opened)...)
	for _, check := range append([]Check{validate}, checks...) {
		for _, p := range check(c) {
			// A value that could not be read has its problem already.
			if !misread[p.Path] {
				problems = append(problems, s.locate(c, p))
			}
		}
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, inFileOrder)
		return nil, problems
	}
	return c, nil
}

func applyFlags(flags []Flag, all []setting, from map[string]string) Problems {
	var problems Problems
	for _, f := range flags {
		for _, s := range all {
			if s.path != f.Path {
				continue
			}
			from[s.path] = f.Name
			if err := setText(s.v, f.Value); err != nil {
				problems = append(problems, Problem{Where: f.Name, Path: s.path, Message: err.Error()})
			}
		}
	}
	return problems
}

// inFileOrder sorts problems by file and line; those that are in no file come last.
func inFileOrder(a, b Problem) int {
	place := func(p Problem) uint {
		if p.line == 0 {
			return math.MaxUint
		}
		return uint(p.file)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.line, b.line))
}

// locate sets where the field of a problem was set last: a variable, a flag, or a line of a file.
func (s *source) locate(c *Config, p Problem) Problem {
	if c.from[p.Path] != "" {
		p.Where = c.from[p.Path]
		return p
	}
	line := c.Line(p.Path)
	if from, path, ok := c.importedAs(p.Path); ok {
		s, p.Path = from, path
	}
	if line > 0 {
		p.Where = fmt.Sprintf("%s:%d", s.name, line)
		p.Excerpt, p.file, p.line = excerpt(s.text, line), s.number, line
	}
	return p
}
