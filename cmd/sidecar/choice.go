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

// choice is the value of a flag that accepts one of a few values, which completion offers.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string { return *c.value }

// Type makes the help quote the default, as it does for strings.
func (c *choice) Type() string { return "string" }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return &noChoice{c.of}
	}
	*c.value = value
	return nil
}

// noChoice is the error for a value that a choice does not have.
type noChoice struct{ of []string }

func (e *noChoice) Error() string { return "write " + either(e.of) }

// unknownChoice makes the error for an unknown value of a flag like the other errors about values. It returns other errors
// unchanged.
func unknownChoice(err error) error {
	var invalid *pflag.InvalidValueError
	var none *noChoice
	if !errors.As(err, &invalid) || !errors.As(err, &none) {
		return err
	}
	return fmt.Errorf("--%s %s is unknown; %w", invalid.GetFlag().Name, api.Printable(invalid.GetValue()), none)
}

// addChoice adds a flag that accepts one of a few values to a command.
func addChoice(cmd *cobra.Command, to *string, name, value, help string, of ...string) {
	*to = value
	cmd.Flags().Var(&choice{to, of}, name, help)
}

// addOutput adds the flag --output to a command, which chooses the format of its answer.
func addOutput(cmd *cobra.Command, value, help string, of ...string) *string {
	cmd.Flags().VarP(&choice{&value, of}, "output", "o", help)
	return &value
}

// addTextOutput is addOutput for a command whose answer is text by default.
func addTextOutput(cmd *cobra.Command) *string {
	return addOutput(cmd, outputText, "`format`: text, json (one line) or pretty", outputText, outputJSON, outputPretty)
}

// addJSONOutput is addOutput for a command whose answer is always JSON, by default in a form that fits a terminal or a program.
func addJSONOutput(cmd *cobra.Command) *string {
	return addOutput(cmd, "", "`format`: json (one line) or pretty; default pretty on a terminal, else json", outputJSON, outputPretty)
}
