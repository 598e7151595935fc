package main

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// newExplained makes `sidecar explain <noun> NAME`, which prints the result of a method as text or as JSON. A shell completes NAME
// by known. flags adds the flags of the command and returns a function that makes the params for a name. text converts the
// result to text; its second argument returns the pod of a sidecar, or the sidecar's id if its pod is not known.
func newExplained[P, R any](
	p process, use, short string, m api.Method[P, R], known names,
	flags func(*cobra.Command) (params func(name string) P), text func(R, func(sidecar string) string) string,
) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), Example: "  sidecar explain " + use,
		Long:              short + ": whether a call that does not wait would get it, and if not, why, until when, and who holds it. It takes nothing.",
		ValidArgsFunction: known.first,
	}
	params := flags(cmd)
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the question may take")
	output := addTextOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := ask(cmd.Context(), *socket, "sidecar explain", *timeout, m, params(args[0]))
		switch {
		case err != nil:
			return err
		case *output != outputText:
			return printJSON(p.out, api.AsWire(r), *output)
		}
		pods := sync.OnceValue(func() map[string]string { return podsOf(cmd.Context(), *socket, *timeout) })
		_, err = io.WriteString(p.out, text(r, func(sidecar string) string { return cmp.Or(pods()[sidecar], sidecar) }))
		return err
	}
	return cmd
}

// podsOf returns the pod of each sidecar, by the sidecar's id. It leaves out those that it cannot read: the call is for admins.
func podsOf(ctx context.Context, socket string, timeout time.Duration) map[string]string {
	pods, params := make(map[string]string), api.InspectSidecarsParams{Count: listPage}
	for {
		r, err := ask(ctx, socket, "sidecar explain", timeout, api.InspectSidecars, params)
		if err != nil {
			return pods
		}
		for _, s := range r.Sidecars {
			pods[s.Sidecar] = s.Pod
		}
		if params.Cursor = r.Cursor; r.Cursor == "" {
			return pods
		}
	}
}

// screen collects lines for people, and escapes texts of users in them.
type screen struct{ strings.Builder }

func (t *screen) say(format string, args ...any) { _ = printLine(t, format, args...) }

func (t *screen) line(line []api.ExplainLine, podOf func(string) string) {
	for _, x := range line {
		alive := "alive"
		if x.LeftMS == 0 {
			alive = "not heard of, and passed over"
		}
		t.say("  in line: %d of %s, %s", x.Waiting, podOf(x.Sidecar), alive)
	}
}

func newExplainLock(p process) *cobra.Command {
	return newExplained(p, "lock NAME", "Tell why a lock is refused", api.LockExplain, lockList.names,
		func(*cobra.Command) func(string) api.LockGetParams {
			return func(name string) api.LockGetParams { return api.LockGetParams{Name: name} }
		},
		func(r api.LockExplainResult, podOf func(string) string) string {
			var t screen
			t.say("%s", r.Text)
			if r.Held {
				t.say("  fence %s, TTL %s, bound to the %s", r.Fence, ms(r.TTLMS), r.Bind)
			}
			t.line(r.Line, podOf)
			return t.String()
		})
}

func newExplainBreaker(p process) *cobra.Command {
	return newExplained(p, "breaker NAME", "Tell whether a breaker lets a call pass", api.BreakerExplain, breakerList.names,
		func(cmd *cobra.Command) func(string) api.BreakerParams {
			pool := cmd.Flags().String("pool", "", "`name` of the pool whose member it is of")
			names(poolList.names).of(cmd, "pool")
			policy := cmd.Flags().String("policy", "", "`name` of the policy that the call names")
			return func(name string) api.BreakerParams {
				return api.BreakerParams{Name: name, Pool: *pool, Policy: *policy}
			}
		},
		func(r api.BreakerExplainResult, _ func(string) string) string {
			var t screen
			s := r.Settings
			t.say("%s", r.Text)
			t.say("  %s since %s, generation %d", r.State, moment(r.ChangedAtMS), r.Generation)
			t.say("  policy %s (%s): opens after %d failures in a row for %s, %s the next time; %d probes at once, %d successes close it",
				r.Policy, r.PolicyFrom, s.FailureThreshold, ms(s.OpenMS), ms(r.NextOpenMS), s.HalfOpenMax, s.SuccessThreshold)
			if w := s.Window; w != nil {
				t.say("  window of %s: %d calls, %d failed, %d slow", ms(w.WindowMS), r.WindowCalls, r.WindowFailed, r.WindowSlow)
			}
			return t.String()
		})
}

// members returns the text of an explanation of a pool or of permits.
func members(r api.PoolExplainResult, podOf func(string) string) string {
	var t screen
	t.say("%s", r.Text)
	if r.Rule != "" {
		t.say("  rule %s%s%s: %s for member %s", r.Rule, unless(!r.Override, ", by an override"), unless(!r.Shadow, ", in shadow"),
			strings.Join(r.Limits, ", "), r.ID)
	}
	if r.Breaker != "" {
		t.say("  breaker policy %s", r.Breaker)
	}
	for _, x := range r.Reasons {
		after := "the first, " + x.ID + ", in " + ms(x.AfterMS)
		if x.AfterMS < 0 {
			after = "such as " + x.ID + ", and no time changes that"
		}
		t.say("  %s: %d, %s", x.Reason, x.Members, after)
	}
	for _, h := range r.Holders {
		t.say("  %s is held by %s since %s, ends in %s unless renewed", h.ID, who(h.HeldBy), moment(h.HeldBy.SinceAtMS), ms(h.LeftMS))
	}
	t.line(r.Line, podOf)
	return t.String()
}

func newExplainPool(p process) *cobra.Command {
	return newExplained(p, "pool POOL", "Tell which member of a pool a call would get", api.PoolExplain, poolList.names,
		func(cmd *cobra.Command) func(string) api.PoolExplainParams {
			scope := cmd.Flags().String("scope", "", "the `scope` of the call")
			id := cmd.Flags().String("id", "", "only this `member`")
			return func(pool string) api.PoolExplainParams {
				return api.PoolExplainParams{Pool: pool, Scope: *scope, ID: *id}
			}
		}, members)
}

func newExplainPermit(p process) *cobra.Command {
	return newExplained(p, "permit POOL", "Tell which member of a pool a permit would be of", api.PermitExplain, poolList.names,
		func(cmd *cobra.Command) func(string) api.PermitExplainParams {
			var q api.PermitExplainParams
			cmd.Flags().StringVar(&q.Rule, "rule", "", "`name` of the rule of the call")
			names(ruleNames).of(cmd, "rule")
			cmd.Flags().StringVar(&q.Breaker, "breaker", "", "`name` of the breakers' policy of the call")
			cmd.Flags().StringVar(&q.Scope, "scope", "", "the `scope` of the call")
			cmd.Flags().StringVar(&q.ID, "id", "", "only this `member`")
			cmd.Flags().Int64Var(&q.Cost, "cost", 1, "the `cost` of the call")
			return func(pool string) api.PermitExplainParams {
				q.Pool = pool
				return q
			}
		}, members)
}
