// Pictures draws the pictures of docs/concepts.md as SVG, in colours that follow the reader's theme:
//
//	pictures sequence FILE    a sequence of calls, described in FILE (sequence.go has the format)
//	pictures limit FILE       the calls that a limit admitted: FILE is the output of `sidecar rules simulate -o json`
//
// Its invariant: the same input gives the same bytes, on any machine, so that a test can compare the committed files
// with the output.
package main

import (
	"fmt"
	"os"
)

var drawings = map[string]func(text string) (string, error){
	"sequence": sequence,
	"limit":    limit,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || drawings[args[0]] == nil {
		return fmt.Errorf("usage: pictures sequence|limit FILE")
	}
	text, err := os.ReadFile(args[1]) //nolint:gosec // the file is an argument of the command
	if err != nil {
		return err
	}
	picture, err := drawings[args[0]](string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	_, err = fmt.Print(picture)
	return err
}
