package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The formats of answers.
const (
	outputText   = "text"
	outputJSON   = "json"
	outputPretty = "pretty"
	outputTable  = "table"
)

// choice is the value of a flag that is one of a few, which completion offers.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string { return *c.value }

// Type has the help quote the default as it does that of any text.
func (c *choice) Type() string { return "string" }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return &noChoice{c.of}
	}
	*c.value = value
	return nil
}

// noChoice is the error of a value that is not among those of a choice.
type noChoice struct{ of []string }

func (e *noChoice) Error() string { return "write " + either(e.of) }

// unknownChoice is err in the words of the other errors about values, if it is of a choice.
func unknownChoice(err error) error {
	var invalid *pflag.InvalidValueError
	var none *noChoice
	if !errors.As(err, &invalid) || !errors.As(err, &none) {
		return err
	}
	return fmt.Errorf("--%s %s is unknown; %w", invalid.GetFlag().Name, api.Printable(invalid.GetValue()), none)
}

// addChoice gives a command a flag that is one of a few.
func addChoice(cmd *cobra.Command, to *string, name, value, help string, of ...string) {
	*to = value
	cmd.Flags().Var(&choice{to, of}, name, help)
}

// addOutput gives a command the flag by which its answer is text or JSON.
func addOutput(cmd *cobra.Command, value, help string, of ...string) *string {
	cmd.Flags().VarP(&choice{&value, of}, "output", "o", help)
	return &value
}

// addTextOutput is addOutput of a command that answers people unless it is told otherwise.
func addTextOutput(cmd *cobra.Command) *string {
	return addOutput(cmd, outputText, "`format`: text, json (one line) or pretty", outputText, outputJSON, outputPretty)
}

// addJSONOutput is addOutput of a command whose answer is JSON, by default as whoever reads it would have it.
func addJSONOutput(cmd *cobra.Command) *string {
	return addOutput(cmd, "", "`format`: json (one line) or pretty; default pretty on a terminal, else json", outputJSON, outputPretty)
}
