package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Problem is one mistake.
type Problem struct {
	// Where it was written: file:line, the variable or the flag. Checks given to
	// Load leave it empty, and Load fills it.
	Where string
	// Path is the field; empty when the mistake is not in one.
	Path string
	// Message says what is wrong and ends with the remedy.
	Message string
	// Excerpt is the line of the file, empty when it was written elsewhere.
	Excerpt string

	// To show problems in the order of the files: 0 is the file itself, then come
	// those of rules.files; line 0 is elsewhere.
	file, line int
}

// String is the problem as people read it, on one line or two.
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

// Problems is every mistake of a configuration, so that one run shows them all.
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
// last @, since people paste passwords that hold one unescaped.
var credentials = regexp.MustCompile(`://\S*@`)

// maskSecrets is applied to whatever leaves this package as text: excerpts and
// quoted values end in logs and tickets.
func maskSecrets(s string) string { return credentials.ReplaceAllString(s, "://"+hidden+"@") }

// hidden is what is shown instead of a secret.
const hidden = "xxxxx"

// passwords matches what a line of a file says of one, to the line's end.
var passwords = regexp.MustCompile(`(password["']?\s*:\s*)\S.*`)

// excerpt is one numbered line of the file.
func excerpt(text []string, line int) string {
	if line < 1 || line > len(text) {
		return ""
	}
	shown := passwords.ReplaceAllString(strings.TrimRight(text[line-1], " \t\r"), "${1}"+hidden)
	return fmt.Sprintf("%7d | %s", line, shown)
}
