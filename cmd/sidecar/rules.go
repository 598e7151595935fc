package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

func newRules(p process) *cobra.Command {
	return newGroup("rules", "Check rules, compare them with the running ones, or try them out",
		newRulesLint(p), newRulesDiff(p), newRulesSimulate(p))
}

func newRulesLint(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check files of rules and show every mistake",
		Long: `Check files of rules, as rules.files names them (items: and a list), and show each mistake with its line and its fix; the
exit code is 2 if there is one. Else print a summary of each rule. Several files are checked as one set, in which each name
may occur only once.

Instead, one whole configuration may be given: its rules and those of its rules.files are checked and printed, and its other
sections are checked too, as by sidecar config check.`,
		Example: "  sidecar rules lint rules.yaml\n  sidecar rules lint coxswain.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			rules, err := loadRules(args)
			if err != nil {
				return err
			}
			return describeRules(p.out, rules)
		},
	}
}

// loadRules reads and checks files of rules, or the rules of one whole configuration.
func loadRules(files []string) ([]api.Rule, error) {
	if i := slices.IndexFunc(files, config.IsWhole); i >= 0 {
		if len(files) > 1 {
			return nil, usage("%s is a whole configuration, not a file of rules: check it alone, or with sidecar config check %s", files[i], files[i])
		}
		c, err := loadConfig(config.Sources{File: files[i]})
		if err != nil {
			return nil, err
		}
		return c.Rules.Items, nil
	}
	items, err := config.LoadRules(files, checkRules)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return items, nil
}

// describeRules prints a summary of each rule, one on each line.
func describeRules(to io.Writer, rules []api.Rule) error {
	set := ratelimit.NewRules()
	if err := set.Set(rules, 0); err != nil {
		return err
	}
	more := make(map[string]string, len(rules))
	for _, r := range rules {
		more[r.Name] = strings.Join(extras(r), ", ")
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, r := range set.InForce() {
		_ = printLine(w, "%s\t%s\t%s\t%s", r.Name, r.Algorithm, strings.Join(r.Limits, ", "), more[r.Name])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "%s, no mistakes\n", counted(len(rules), "rule"))
	return err
}

// extras lists what a rule has besides its limits.
func extras(r api.Rule) []string {
	var all []string
	for _, x := range []struct {
		n    int
		noun string
	}{
		{len(r.Overrides), "override"}, {len(r.Groups), "group"}, {len(r.Allow), "allowed set"}, {len(r.Deny), "denied set"},
	} {
		if x.n > 0 {
			all = append(all, counted(x.n, x.noun))
		}
	}
	if r.MaxConcurrent > 0 {
		all = append(all, fmt.Sprintf("%d at once", r.MaxConcurrent))
	}
	if !ratelimit.NoPenalty(r.Penalty) {
		all = append(all, "penalty")
	}
	if r.FailMode != "" {
		all = append(all, "fail mode "+r.FailMode)
	}
	if r.Shadow {
		all = append(all, "in shadow: it refuses nothing")
	}
	return all
}

// counted formats a number of things.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
