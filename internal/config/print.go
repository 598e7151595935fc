package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
)

// Print writes c as a file that could be loaded again, except for its secrets,
// which are masked. A comment at each value has its variable, and where it was set.
func (c *Config) Print(w io.Writer) error {
	masked := c.masked()
	if len(c.imported) > 0 {
		masked.Rules.Items = c.Rules.Items[:c.own] // the others are read from rules.files again
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
		if s.v.Kind() == reflect.Slice { // a list begins on the line after its key
			comments["$."+s.path] = []*yaml.Comment{yaml.HeadComment(note)}
			continue
		}
		comments["$."+s.path] = []*yaml.Comment{yaml.LineComment(note)}
	}
	b, err := yaml.MarshalWithOptions(masked, yaml.WithComment(comments), yaml.IndentSequence(true),
		yaml.CustomMarshaler(quoteUnclear))
	if err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// masked returns a copy of c without its secrets.
func (c *Config) masked() Config {
	m := *c
	m.Redis.URL = maskSecrets(c.Redis.URL)
	if m.Redis.Sentinel.Password != "" {
		m.Redis.Sentinel.Password = hidden
	}
	return m
}

// Printed parses the output of Print, as a running sidecar returns it. The result is not validated, and its secrets
// are masked.
func Printed(text string) (*Config, error) {
	c := Default()
	s, err := parse("the configuration in force", []byte(text), &c)
	if err == nil && len(s.problems) > 0 {
		err = s.problems
	}
	return &c, err
}

// Unlike returns the paths of the settings in which c differs from a printed one. It compares no rules, policies or
// secrets.
func (c *Config) Unlike(printed *Config) []string {
	m := c.masked()
	return m.Changed(printed)
}

// quoteUnclear writes text in Go's quotes, whose escapes YAML reads too, where it has characters that are not printable,
// since a terminal would carry out control sequences in it, and where it begins with a sign, since the encoder leaves some
// of these texts plain although they mean something else in YAML: ?, ---, and others.
func quoteUnclear(text string) ([]byte, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) || strings.IndexFunc(text, beginsPlain) != 0 {
		return []byte(strconv.Quote(text)), nil
	}
	return yaml.Marshal(text)
}

// beginsPlain reports whether text with this first character is no syntax of YAML: a word, a number, an absolute path, :8086.
func beginsPlain(first rune) bool {
	return unicode.IsLetter(first) || unicode.IsNumber(first) || first == '/' || first == ':'
}
