package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newExplain(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain --rule NAME --key KEY",
		Short: "Explain why a key is refused, until when, and who holds its permits",
		Long: `Explain the state of a key under a rule: whether a call of cost 1 would be allowed now, and if not, why and until when; the
override or list of the rule that applies; each band; pause, delay and penalty; who holds permits. It takes nothing. The
commands below explain locks, breakers, pools and permits.`,
		Example: "  sidecar explain --rule crawler --key a.example.com\n  sidecar explain lock nightly\n  sidecar explain permit accounts --breaker default",
		Args:    cobra.NoArgs,
	}
	var q api.RatelimitExplainParams
	cmd.Flags().StringVar(&q.Rule, "rule", "", "`name` of the rule")
	names(ruleNames).of(cmd, "rule")
	cmd.Flags().StringVar(&q.Key, "key", "", "the `key`, such as a host")
	cmd.Flags().StringVar(&q.Group, "group", "", "the `group` that is counted instead of the key, if the caller names one")
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the question may take")
	output := addTextOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.Rule == "" || q.Key == "" {
			return usage("explain: name both --rule and --key")
		}
		if *output != outputText {
			result, err := call(cmd.Context(), *socket, api.RatelimitExplain.Name, explainParams(q))
			if err != nil {
				return err
			}
			return printJSON(p.out, result, *output)
		}
		e, err := ask(cmd.Context(), *socket, "sidecar explain", *timeout, api.RatelimitExplain, q)
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.out, explained(q.Key, e))
		return err
	}
	cmd.AddCommand(newExplainLock(p), newExplainBreaker(p), newExplainPool(p), newExplainPermit(p))
	return cmd
}

func explainParams(q api.RatelimitExplainParams) map[string]any {
	m := map[string]any{"rule": q.Rule, "key": q.Key}
	if q.Group != "" {
		m["group"] = q.Group
	}
	return m
}

// explained returns the explanation as text for people.
func explained(key string, e api.RatelimitExplainResult) string {
	var b strings.Builder
	say := func(format string, args ...any) { _ = printLine(&b, format, args...) }
	say("%s", verdict(key, e))
	if e.Counted != key {
		say("  it counts as %s", e.Counted)
	}
	say("  rule %s, %s, as of %s", e.Rule, e.Algorithm, instant(e.Revision))
	if e.Override != "" {
		say("  override %s counts", e.Override)
	}
	if e.List != "" {
		say("  it is on the rule's %s list, so that nothing of the below matters", e.List)
	}
	for _, x := range e.Bands {
		say("  band %s: %d left, %d used%s", x.Band, x.Remaining, x.Current, unless(x.ResetAfterMS == 0, ", as if unused in "+ms(x.ResetAfterMS)))
	}
	if x := e.Block; x != nil {
		say("  %s of them charged ahead by this sidecar, for another %s", counted(int(x.Tokens), "token"), ms(x.LeftMS))
	}
	if x := e.Pause; x != nil {
		say("  paused until %s, for another %s%s", instant(x.UntilAtMS), ms(x.LeftMS), unless(x.Reason == "", ": "+x.Reason))
	}
	if x := e.Delay; x != nil {
		say("  %s from one to the next, as %s says until %s; next in %s", ms(x.DelayMS), x.Source, instant(x.UntilAtMS), ms(x.NextMS))
	}
	if x := e.Penalty; x != nil {
		say("  %s in a row so far, forgiven in %s if there is no other", counted(int(x.Level), "pause"), ms(x.ForgivenMS))
	}
	if e.MaxConcurrent > 0 || len(e.Held) > 0 {
		say("  %d of %d places held, %d waiting", len(e.Held), e.MaxConcurrent, e.Waiting)
	}
	for _, h := range e.Held {
		say("    %s %s since %s, ends in %s unless renewed", h.Client, h.Instance, instant(h.SinceAtMS), ms(h.LeftMS))
	}
	return b.String()
}

// reasons has the reason of each decision, for people.
var reasons = map[string]string{
	"limit": "a band is used up", "pause": "it is paused", "delay": "the last one was too short a time ago",
	"concurrency": "all places are held", "deny_list": "the rule refuses it",
}

// verdict returns the first line: whether a call would be allowed now.
func verdict(key string, e api.RatelimitExplainResult) string {
	switch {
	case e.Decision == "allowed":
		return key + " may go now"
	case e.Shadow:
		return fmt.Sprintf("%s may go now, but only since the rule is in shadow: %s (%s)", key, reasons[e.Decision], e.Decision)
	case e.RetryMS < 0:
		return fmt.Sprintf("%s is refused: %s (%s), and no time changes that", key, reasons[e.Decision], e.Decision)
	default:
		return fmt.Sprintf("%s is refused: %s (%s); free in %s", key, reasons[e.Decision], e.Decision, ms(e.RetryMS))
	}
}

func ms(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func unless(not bool, text string) string {
	if not {
		return ""
	}
	return text
}
