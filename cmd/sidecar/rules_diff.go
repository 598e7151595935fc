package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

func newRulesDiff(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff FILE",
		Short: "Compare a file of rules with those in force in a running sidecar",
		Long: `Compare a file of rules, or the rules of a whole configuration, with those in force in a running sidecar, field by
field: + is only in the file, - is only in force, ~ differs, from the value in force to that of the file. A default that is
written out is no difference. The exit code is 0 if there is no difference, else 1.`,
		Example: "  sidecar rules diff rules.yaml",
		Args:    cobra.ExactArgs(1),
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the question may take")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rules, err := loadRules(args)
		if err != nil {
			return err
		}
		wanted := make(map[string]api.Rule, len(rules))
		for _, r := range rules {
			wanted[r.Name] = ratelimit.PlainRule(r)
		}
		running, err := ask(cmd.Context(), *socket, "sidecar rules diff", *timeout, api.RatelimitRules, api.Nothing{})
		if err != nil {
			return err
		}
		same, err := diffRules(p.out, wanted, running)
		if err == nil && !same {
			err = &exit{code: exitFailed}
		}
		return err
	}
	return cmd
}

// ask makes one call to a running sidecar.
func ask[P, R any](ctx context.Context, socket, name string, timeout time.Duration, m api.Method[P, R], params P) (result R, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := dial(ctx, socket, name, false)
	if err != nil {
		return result, err
	}
	defer c.Close()
	result, err = client.Call(ctx, c, m, params)
	switch {
	case err == nil:
		return result, nil
	case isConnectError(err):
		return result, &exit{exitUnreachable, unreachable(socket, err)}
	case errors.Is(err, context.DeadlineExceeded):
		return result, fmt.Errorf("%w: no answer within --timeout", api.DeadlineExceeded)
	default:
		return result, err
	}
}

// diffRules prints the differences, sorted by name, and reports whether there is none.
func diffRules(to io.Writer, wanted map[string]api.Rule, running api.RatelimitRulesResult) (same bool, err error) {
	inForce := make(map[string]api.RuleInForce, len(running.Rules))
	names := maps.Clone(wanted)
	for _, r := range running.Rules {
		if !r.Hidden {
			inForce[r.Rule.Name], names[r.Rule.Name] = r, r.Rule
		}
	}
	same = true
	say := func(format string, args ...any) {
		same = false
		if err == nil {
			err = printLine(to, format, args...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, in := wanted[name]
		r, out := inForce[name]
		switch {
		case !out:
			say("+ %s: %s", name, text(w))
		case !in:
			say("- %s (of %s): %s", name, origins[r.Source], text(r.Rule))
		default:
			diffFields(say, name, origins[r.Source], r.Rule, w)
		}
	}
	return same, err
}

// origins has the text for each source of a rule in force.
var origins = map[string]string{"file": "a file", "redis": "redis"}

// diffFields prints how two rules of one name differ.
func diffFields(say func(string, ...any), name, origin string, was, now api.Rule) {
	a, b := reflect.ValueOf(was), reflect.ValueOf(now)
	said := false
	for _, f := range api.Fields(a.Type()) {
		from, to := text(a.Field(f.Index).Interface()), text(b.Field(f.Index).Interface())
		if from == to {
			continue
		}
		if !said {
			say("~ %s (of %s)", name, origin)
			said = true
		}
		say("    %s: %s -> %s", f.Name, from, to)
	}
}

// text formats a value of the contract as JSON, with its names on the wire.
func text(v any) string {
	p := plain(reflect.ValueOf(v))
	if p == nil {
		return "default"
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// plain converts a value of the contract to maps, slices and basic types; nil for a zero value.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Elem().Kind() != reflect.Struct {
			return v.Elem().Interface()
		}
		return plain(v.Elem())
	case reflect.Struct:
		m := make(map[string]any)
		for _, f := range api.Fields(v.Type()) {
			if x := plain(v.Field(f.Index)); x != nil || f.Required {
				m[f.Name] = v.Field(f.Index).Interface()
				if x != nil {
					m[f.Name] = x
				}
			}
		}
		return m
	case reflect.Slice:
		if v.Len() == 0 {
			return nil
		}
		all := make([]any, v.Len())
		for i := range all {
			all[i] = plain(v.Index(i))
		}
		return all
	default:
		if v.IsZero() {
			return nil
		}
		return v.Interface()
	}
}
