package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Print writes c as a file that could be loaded again, except for its secrets,
// which are masked. Beside each value stands its variable and what set it.
func (c *Config) Print(w io.Writer) error {
	masked := c.masked()
	if len(c.imported) > 0 {
		masked.Rules.Items = c.Rules.Items[:c.own] // rules.files brings the others
	}
	comments := yaml.CommentMap{}
	for _, s := range settings(&masked) {
		note := " " + s.variable()
		if s.path == socketPath {
			note = " " + EnvSocket
		}
		switch line := c.lines[s.path]; {
		case c.from[s.path] != "":
			note += ", set by " + c.from[s.path]
		case line > 0:
			note += fmt.Sprintf(", set in line %d", line)
		}
		if s.v.Kind() == reflect.Slice { // its first line ends with the key
			comments["$."+s.path] = []*yaml.Comment{yaml.HeadComment(note)}
			continue
		}
		comments["$."+s.path] = []*yaml.Comment{yaml.LineComment(note)}
	}
	b, err := yaml.MarshalWithOptions(masked, yaml.WithComment(comments), yaml.IndentSequence(true),
		yaml.CustomMarshaler(quoteHidden))
	if err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// masked is c without its secrets.
func (c *Config) masked() Config {
	m := *c
	m.Redis.URL = maskSecrets(c.Redis.URL)
	if m.Redis.Sentinel.Password != "" {
		m.Redis.Sentinel.Password = hidden
	}
	return m
}

// Printed reads what Print wrote, of a running sidecar. It is not checked, and its secrets are masked.
func Printed(text string) (*Config, error) {
	c := Default()
	s, err := parse("the configuration in force", []byte(text), &c)
	if err == nil && len(s.problems) > 0 {
		err = s.problems
	}
	return &c, err
}

// Unlike lists the settings in which c differs from one that was printed, by path; not rules and policies, and not secrets.
func (c *Config) Unlike(printed *Config) []string {
	m := c.masked()
	return m.Changed(printed)
}

// quoteHidden writes what is not printable as Go does, which is how YAML does it
// in double quotes: on a terminal it would else be obeyed.
func quoteHidden(text string) ([]byte, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return []byte(strconv.Quote(text)), nil
	}
	return yaml.Marshal(text)
}
