package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

func newCall(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call METHOD [JSON|-]",
		Short: "Call a method of a running sidecar",
		Long: `Call a method of a running sidecar and print its result as JSON, keys sorted; bin values are base64.

The parameters are a JSON object; - reads it from standard input. An error is printed on stderr as CODE: text.

The call is a session of its own: what it acquires is given back when it ends, unless {"bind":"ttl"} keeps it.

With -o pretty a string of several lines is printed as a list of its lines.

A refusal is a result, and the exit code is 0. With --exit-code it is 4 if a limit or a breaker refuses ("allowed":false), and 5
if the caller does not get or hold what the call is about ("acquired", "reserved", "renewed" or "found" is false).`,
		Example: `  sidecar call ratelimit.acquire '{"key":"a","algorithm":"token_bucket","limits":[{"limit":3,"period_ms":5000}]}'
  sidecar call lock.acquire '{"name":"nightly","bind":"ttl","ttl_ms":60000}'
  sidecar call --exit-code ratelimit.peek '{"rule":"crawler","key":"a.example.com"}'
  sidecar call -o json session.ping`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeMethods,
	}
	socket := addSocketFlag(cmd, p)
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the call may take, in addition to its wait_ms")
	output := addJSONOutput(cmd)
	tells := cmd.Flags().Bool("exit-code", false, "exit with 4 if a limit or a breaker refuses, with 5 if the caller does not get or hold what the call is about")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		params, err := readParams(args[1:], p.in)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout+waitOf(params))
		defer cancel()
		result, err := call(ctx, *socket, args[0], params)
		if err != nil {
			return err
		}
		if args[0] != api.HealthGet.Name && degraded(result) {
			fmt.Fprintln(p.err, "note: degraded: Redis does not answer the sidecar, so that the fail mode answered "+
				"and nothing is shared or counted; see sidecar probe ready")
		}
		if err := printJSON(p.out, result, outputFormat(*output, p.out)); err != nil || !*tells {
			return err
		}
		if code := codeOfAnswer(result); code != exitOK {
			return &exit{code: code}
		}
		return nil
	}
	return cmd
}

// longestWait is how long one call may wait.
const longestWait = 60 * time.Second

// waitOf returns how long a call asks to wait, which is added to its timeout.
func waitOf(params map[string]any) time.Duration {
	ms, _ := params[api.ParamWaitMS].(int64) // the sidecar refuses other types
	return time.Duration(max(0, min(ms, longestWait.Milliseconds()))) * time.Millisecond
}

func call(ctx context.Context, socket, method string, params map[string]any) (any, error) {
	c, err := dial(ctx, socket, "sidecar call", false)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var result any
	err = c.CallRaw(ctx, method, params, &result)
	switch {
	case err == nil:
		return result, nil
	case isConnectError(err):
		return nil, &exit{exitUnreachable, unreachable(socket, err)}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: no answer within --timeout; it may have been carried out", api.DeadlineExceeded)
	default:
		return nil, err
	}
}

// had are the fields of results that report whether the caller has what it asked for.
var had = []string{"acquired", "reserved", "renewed", "found"}

// codeOfAnswer returns the exit code of a call that did not fail, by its result; of several decisions, the code of the worst.
// Decisions are in "result" and "results". Other inner maps may have keys of users, such as the fields of a message.
func codeOfAnswer(answer any) int {
	switch r := answer.(type) {
	case map[string]any:
		if allowed, ok := r["allowed"].(bool); ok && !allowed {
			return exitRefused
		}
		for _, field := range had {
			if yes, ok := r[field].(bool); ok && !yes {
				return exitBusy
			}
		}
		return max(codeOfAnswer(r["result"]), codeOfAnswer(r["results"]))
	case []any:
		codes := make([]int, len(r))
		for i, x := range r {
			codes[i] = codeOfAnswer(x)
			if item, ok := x.(map[string]any); ok && item["error"] != nil {
				codes[i] = exitFailed
			}
		}
		for _, worst := range []int{exitFailed, exitRefused, exitBusy} {
			if slices.Contains(codes, worst) {
				return worst
			}
		}
	}
	return exitOK
}

// degraded reports whether a result, or one of several, came from a fail mode. A user who tries things out
// by hand would otherwise take it for a decision by the state in Redis.
func degraded(result any) bool {
	switch r := result.(type) {
	case map[string]any:
		if yes, ok := r["degraded"].(bool); ok {
			return yes
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(r)), degraded)
	case []any:
		return slices.ContainsFunc(r, degraded)
	}
	return false
}

// outputFormat returns the format of an answer in JSON: the one that was asked for, or by default pretty on a terminal, else json.
func outputFormat(asked string, out io.Writer) string {
	if asked == "" && telemetry.IsTerminal(out) {
		return outputPretty
	}
	return cmp.Or(asked, outputJSON)
}

// readParams reads the JSON object of a command line. Integers stay exact, also above 2^53, where a
// float64 would change them.
func readParams(args []string, in io.Reader) (map[string]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	text := io.Reader(strings.NewReader(args[0]))
	if args[0] == "-" {
		text = in
	}
	d := json.NewDecoder(text)
	d.UseNumber()
	var params map[string]any
	if err := d.Decode(&params); err != nil || params == nil {
		what := "null"
		var other *json.UnmarshalTypeError
		switch {
		case errors.As(err, &other):
			what = other.Value
		case err != nil:
			what = err.Error()
		}
		return nil, usage("the parameters are not a JSON object (%s); write one such as '{\"key\":\"a\"}'", what)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, usage("something follows the JSON object of the parameters; quote it as one argument")
	}
	for k, v := range params {
		n, err := numbers(v)
		if err != nil {
			return nil, usage("%s: %v", k, err)
		}
		params[k] = n
	}
	return params, nil
}

// numbers replaces the json.Numbers in a value.
func numbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case map[string]any:
		for k, x := range v {
			n, err := numbers(x)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			v[k] = n
		}
	case []any:
		for i, x := range v {
			n, err := numbers(x)
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	if !strings.ContainsAny(n.String(), ".eE") {
		return nil, fmt.Errorf("%s does not fit 64 bits; write a smaller number", n)
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is not a number that can be sent; write a smaller one", n)
	}
	return f, nil
}

func printJSON(to io.Writer, v any, format string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if format == outputPretty {
		e.SetIndent("", "  ")
		v = byLine(v)
	}
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	_, err := io.WriteString(to, asciiControls(b.String()))
	return err
}

// byLine replaces each text of several lines in a result, such as a configuration, by the list of its
// lines. As one text, JSON would print it on a single line full of escapes.
func byLine(v any) any {
	switch v := v.(type) {
	case string:
		if lines := strings.Split(strings.TrimSuffix(v, "\n"), "\n"); len(lines) > 1 {
			return lines
		}
	case map[string]any:
		for k, x := range v {
			v[k] = byLine(x)
		}
	case []any:
		for i, x := range v {
			v[i] = byLine(x)
		}
	}
	return v
}

// asciiControls escapes characters that a terminal may act upon and that JSON may have unescaped. The
// result is equivalent JSON, since such characters can only be in strings.
func asciiControls(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case r < 0x7f || strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
