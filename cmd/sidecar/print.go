package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// printLine prints a line for people. Texts and errors among the values may come from users, so their
// control characters are escaped: they can neither act on a terminal nor begin a new line.
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

// printableError returns an error's text with escaped control characters. An error that a sidecar
// answered is printed as one line; the errors of this program may have several.
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
