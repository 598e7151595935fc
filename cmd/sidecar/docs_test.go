package main_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

const reference = "../../docs/cli.md"

var update = flag.Bool("update", false, "write "+reference+" anew")

// docs/cli.md is the tree of commands in words: go test ./cmd/sidecar -run Reference -update
func TestTheReferenceOfTheCommandLineIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!-- Written by `go test ./cmd/sidecar -run Reference -update` from the commands. Do not edit. -->\n# The command line\n\n")
	document(&b, main.Root())
	if *update {
		require.NoError(t, os.WriteFile(reference, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(reference)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run: go test ./cmd/sidecar -run Reference -update")
}

// document writes a command and those below it. Cobra's own, help, is left to --help.
func document(b *strings.Builder, c *cobra.Command) {
	if c.HasParent() {
		fmt.Fprintf(b, "\n## `%s`\n\n", c.CommandPath())
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	prose, block, indented := strings.Cut(text, "\n  ")
	fmt.Fprintln(b, prose)
	if indented {
		fmt.Fprintf(b, "\n```\n  %s\n```\n", block)
	}
	if c.Runnable() {
		fmt.Fprintf(b, "\n```\n%s\n", c.UseLine())
		if c.HasAvailableLocalFlags() {
			fmt.Fprintf(b, "\n%s", c.LocalNonPersistentFlags().FlagUsages())
		}
		fmt.Fprintln(b, "```")
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", c.Example)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			document(b, sub)
		}
	}
}
