package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Problem is one mistake.
type Problem struct {
	// Where the value was set: file:line, the variable or the flag. The checks that
	// Load is given leave it empty, and Load sets it.
	Where string
	// Path is the path of the field; empty when the mistake is not in a field.
	Path string
	// Message describes what is wrong and ends with the remedy.
	Message string
	// Excerpt is the line of the file, empty when the value was set elsewhere.
	Excerpt string

	// file and line sort the problems: file 0 is the configuration file, 1 and up are
	// those of rules.files; line 0 is a problem that is in no file.
	file, line int
}

// String returns the problem as text for people: one line, and the excerpt on a second.
func (p Problem) String() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{p.Where, p.Path, p.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	s := strings.Join(parts, ": ")
	if p.Excerpt != "" {
		s += "\n" + p.Excerpt
	}
	return maskSecrets(s)
}

// Problems is all mistakes of a configuration, so that one run shows them all.
type Problems []Problem

// Error implements error.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// credentials matches the user part of any URL in a text. It is greedy up to the
// last @, since users paste passwords that contain an unescaped @.
var credentials = regexp.MustCompile(`://\S*@`)

// maskSecrets is applied to all text that this package returns, since excerpts and
// quoted values end up in logs and tickets.
func maskSecrets(s string) string { return credentials.ReplaceAllString(s, "://"+hidden+"@") }

// hidden is what is shown instead of a secret.
const hidden = "xxxxx"

// passwords matches a password key in a line of a file, and its value to the end of the line.
var passwords = regexp.MustCompile(`(password["']?\s*:\s*)\S.*`)

// excerpt is one numbered line of the file.
func excerpt(text []string, line int) string {
	if line < 1 || line > len(text) {
		return ""
	}
	shown := passwords.ReplaceAllString(strings.TrimRight(text[line-1], " \t\r"), "${1}"+hidden)
	return fmt.Sprintf("%7d | %s", line, shown)
}
