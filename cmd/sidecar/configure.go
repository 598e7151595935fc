package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

func newConfig(p process) *cobra.Command {
	return newGroup("config", "Check or print the configuration", newConfigCheck(p), newConfigPrint(p))
}

func newConfigCheck(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file and show every mistake",
		Long: `Check a configuration file with its rules, and show each mistake with its line and its fix: exit code 0 if there is
none, else 2. COXSWAIN_* variables are checked with it, since serve would read them too.`,
		Example: "  sidecar config check coxswain.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := loadConfig(config.Sources{File: args[0], Env: p.env})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "%s is valid: %d rules\n", args[0], len(c.Rules.Items))
			return err
		},
	}
}

func newConfigPrint(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in force, with secrets masked",
		Long: `Print the configuration that serve would run with, with secrets masked; each value has a comment with its variable and
what set it.`,
		Example: "  sidecar config print --config coxswain.yaml",
		Args:    cobra.NoArgs,
	}
	flags := addServeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := loadConfig(flags.sources(cmd, p))
		if err != nil {
			return err
		}
		return c.Print(p.out)
	}
	return cmd
}
