package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// newGroup makes a command that only groups other commands. Its help shows the first example of each.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	names, examples := make([]string, len(commands)), make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name()
		examples[i], _, _ = strings.Cut(c.Example, "\n")
	}
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, Example: strings.Join(examples, "\n")}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s: name a command: %s", name, either(names))
		}
		return usage("%s %s: no such command; use %s", name, args[0], either(names))
	}
	cmd.AddCommand(commands...)
	return cmd
}

// either lists alternatives, as in "a, b or c".
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
