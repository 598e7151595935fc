package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// printLine prints for people: texts and errors among the values are those of users
// as well, and cannot do anything to a terminal, nor begin a line.
func printLine(to io.Writer, format string, values ...any) error {
	shown := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			shown[i] = api.Printable(v)
		case error:
			shown[i] = printableError(v)
		default:
			shown[i] = v
		}
	}
	_, err := fmt.Fprintf(to, format+"\n", shown...)
	return err
}

// printableError is an error's text. What a sidecar answers is one line; the errors
// of this program may have several.
func printableError(err error) string {
	var reply *api.Error
	if errors.As(err, &reply) {
		return api.Printable(err.Error())
	}
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = api.Printable(strings.ReplaceAll(l, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
