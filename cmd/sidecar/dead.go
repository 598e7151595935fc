package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newDead(p process) *cobra.Command {
	return newGroup("dead", "List, show, redrive or drop the dead letters of a stream",
		newDeadList(p), newDeadShow(p), newDeadRedrive(p), newDeadDrop(p))
}

// deadFlags are the flags of all commands about dead letters.
type deadFlags struct {
	p              process
	name           string
	stream, output *string
	socket         *string
	timeout        *time.Duration
}

func addDeadFlags(cmd *cobra.Command, p process) *deadFlags {
	f := &deadFlags{p: p, name: "sidecar dead " + cmd.Name()}
	f.stream = cmd.Flags().String("stream", "", "`name` of the stream")
	names(streamList.names).of(cmd, "stream")
	f.socket = addSocketFlag(cmd, p)
	f.timeout = cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that each call may take")
	f.output = addTextOutput(cmd)
	return f
}

func (f *deadFlags) check() error {
	if *f.stream == "" {
		return usage("dead: name a stream with --stream")
	}
	return nil
}

// asked makes a call of a command about dead letters.
func asked[P, R any](ctx context.Context, f *deadFlags, m api.Method[P, R], params P) (R, error) {
	return ask(ctx, *f.socket, f.name, *f.timeout, m, params)
}

// print prints an answer as text for people, or as JSON by the names of the contract.
func (f *deadFlags) print(answer any, text func(io.Writer) error) error {
	if *f.output == outputText {
		return text(f.p.out)
	}
	return printJSON(f.p.out, api.AsWire(answer), *f.output)
}

func newDeadList(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list --stream S",
		Short: "List dead letters, the oldest first",
		Long: `List dead letters, the oldest first: messages that a group failed to process. If there are more than --count, the last
line on stderr has the flag that lists the next ones. With -o json, bodies are base64.`,
		Example: "  sidecar dead list --stream orders\n  sidecar dead list --stream orders --count 256 -o json",
		Args:    cobra.NoArgs,
	}
	f := addDeadFlags(cmd, p)
	var q api.StreamDeadParams
	cmd.Flags().Int64Var(&q.Count, "count", 20, "`n` letters at most, 1 to 256")
	cmd.Flags().StringVar(&q.After, "after", "", "only those after this `id`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if q.Count < 1 || q.Count > 256 {
			return usage("--count %d is out of range; use 1 to 256", q.Count)
		}
		q.Stream = *f.stream
		r, err := asked(cmd.Context(), f, api.StreamDead, q)
		if err != nil {
			return err
		}
		return f.print(r, func(to io.Writer) error {
			if r.Next != "" {
				fmt.Fprintf(p.err, "more: --after %s\n", api.Printable(r.Next))
			}
			return listLetters(to, r.Letters)
		})
	}
	return cmd
}

// listLetters prints a line for each letter.
func listLetters(to io.Writer, letters []api.StreamDeadLetter) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tDEAD AT\tGROUP\tATTEMPTS\tBYTES\tREASON")
	for _, l := range letters {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", api.Printable(l.ID), instant(l.DeadAtMS), api.Printable(l.Group), l.Attempts, len(l.Body),
			api.Printable(l.Reason))
	}
	return w.Flush()
}

func newDeadShow(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show --stream S [ID]",
		Short:   "Show a dead letter with its body and fields",
		Long:    "Show a dead letter with its body and fields; without an ID the oldest, if there is one. A body that is not UTF-8 is printed as base64.",
		Example: "  sidecar dead show --stream orders",
		Args:    cobra.MaximumNArgs(1),
	}
	f := addDeadFlags(cmd, p)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		q := api.StreamDeadParams{Stream: *f.stream, Count: 1}
		if len(args) > 0 {
			var ok bool
			if q.After, ok = before(args[0]); !ok {
				return usage("%q is not the id of a dead letter; sidecar dead list shows them", args[0])
			}
		}
		r, err := asked(cmd.Context(), f, api.StreamDead, q)
		switch {
		case err != nil:
			return err
		case len(args) > 0 && (len(r.Letters) == 0 || r.Letters[0].ID != args[0]):
			return fmt.Errorf("%w: there is no such dead letter; sidecar dead list shows those that there are", api.NotFound)
		case len(r.Letters) == 0:
			return f.print(struct{}{}, func(to io.Writer) error { return printLine(to, "no dead letters") })
		}
		return f.print(r.Letters[0], func(to io.Writer) error { return showLetter(to, r.Letters[0]) })
	}
	return cmd
}

// before returns the id directly before the given one.
func before(id string) (string, bool) {
	at, n, ok := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(at, 10, 64)
	serial, err2 := strconv.ParseInt(n, 10, 64)
	switch {
	case !ok || err != nil || err2 != nil || ms < 0 || serial < 0:
		return "", false
	case serial > 0:
		return fmt.Sprintf("%d-%d", ms, serial-1), true
	default:
		return fmt.Sprintf("%d-%d", max(ms-1, 0), int64(api.MaxInt)), true
	}
}

// showLetter prints a letter for people.
func showLetter(to io.Writer, l api.StreamDeadLetter) error {
	var b strings.Builder
	say := func(format string, args ...any) { _ = printLine(&b, format, args...) }
	say("%s, of group %s, after %s", l.ID, l.Group, counted(int(l.Attempts), "attempt"))
	say("  at %s, for: %s", instant(l.DeadAtMS), l.Reason)
	say("  it was message %s", l.MessageID)
	if l.Traceparent != "" {
		say("  traceparent %s", l.Traceparent)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		say("  field %s: %s", name, l.Fields[name])
	}
	switch {
	case len(l.Body) == 0:
	case utf8.Valid(l.Body):
		say("  body, %s: %s", counted(len(l.Body), "byte"), string(l.Body))
	default:
		say("  body, %s, base64: %s", counted(len(l.Body), "byte"), base64.StdEncoding.EncodeToString(l.Body))
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// atOnce is the most dead letters that one call may name or move.
const atOnce = 256

func newDeadRedrive(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redrive --stream S ID...|--count N|--all",
		Short: "Move dead letters back to the end of their stream",
		Long: `Move dead letters back to the end of their stream, each for the group that failed to process it: those that are named, the
N oldest, or all that there are when the command begins. One step moves at most 256. IDs without a dead letter are ignored.`,
		Example: "  sidecar dead redrive --stream orders --count 10\n  sidecar dead redrive --stream orders --all",
	}
	f := addDeadFlags(cmd, p)
	count := cmd.Flags().Int64("count", 0, "`n` of the oldest dead letters")
	all := cmd.Flags().Bool("all", false, "all that there are")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if !oneOf(len(ids) > 0, *count > 0, *all) || *count < 0 {
			return usage("dead redrive: give either IDs, --count or --all")
		}
		r, err := redrive(cmd.Context(), f, ids, *count, *all)
		if err != nil {
			return err
		}
		return f.print(r, func(to io.Writer) error {
			return printLine(to, "%s moved back to the stream, %d left", counted(int(r.Redriven), "dead letter"), r.Left)
		})
	}
	return cmd
}

// redrive moves dead letters, in steps. With all it moves as many as there are when it begins: letters that
// are added meanwhile may be the same messages again.
func redrive(ctx context.Context, f *deadFlags, ids []string, count int64, all bool) (sum api.StreamRedriveResult, err error) {
	if all {
		s, err := asked(ctx, f, api.StreamStats, api.StreamStatsParams{Stream: *f.stream})
		if err != nil {
			return sum, err
		}
		count = s.Dead
	}
	for len(ids) > 0 || count > 0 {
		some := ids[:min(len(ids), atOnce)]
		q := api.StreamRedriveParams{Stream: *f.stream, IDs: some, Count: min(count, atOnce)}
		r, err := asked(ctx, f, api.StreamRedrive, q)
		if err != nil {
			return sum, err
		}
		sum.Redriven, sum.Left = sum.Redriven+r.Redriven, r.Left
		ids, count = ids[len(some):], count-q.Count
		if r.Left == 0 {
			break
		}
	}
	return sum, nil
}

func oneOf(is ...bool) bool {
	n := 0
	for _, b := range is {
		if b {
			n++
		}
	}
	return n == 1
}

func newDeadDrop(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop --stream S ID...|--older D|--all",
		Short: "Delete dead letters",
		Long:  "Delete dead letters for good: those that are named, those that are older than a duration, or all.",
		Example: "  sidecar dead drop --stream orders --older 168h\n" +
			"  sidecar dead drop --stream orders --all",
	}
	f := addDeadFlags(cmd, p)
	older := cmd.Flags().Duration("older", 0, "those that became dead letters longer ago than this `duration`")
	all := cmd.Flags().Bool("all", false, "all that there are")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if !oneOf(len(ids) > 0, *older > 0, *all) || *older < 0 {
			return usage("dead drop: give either IDs, --older or --all")
		}
		r, err := drop(cmd.Context(), f, ids, *older)
		if err != nil {
			return err
		}
		return f.print(r, func(to io.Writer) error {
			return printLine(to, "%s deleted, %d left", counted(int(r.Deleted), "dead letter"), r.Left)
		})
	}
	return cmd
}

// drop deletes dead letters: those of ids, in steps; or those that are older; or all.
func drop(ctx context.Context, f *deadFlags, ids []string, older time.Duration) (sum api.StreamTrimResult, err error) {
	q := api.StreamTrimParams{Stream: *f.stream, Dead: true}
	if len(ids) == 0 {
		n := older.Milliseconds()
		if older > 0 {
			q.OlderMS = &n
		} else {
			q.MaxLen = &n
		}
		return asked(ctx, f, api.StreamTrim, q)
	}
	for some := range slices.Chunk(ids, atOnce) {
		q.IDs = some
		r, err := asked(ctx, f, api.StreamTrim, q)
		if err != nil {
			return sum, err
		}
		sum.Deleted, sum.Left = sum.Deleted+r.Deleted, r.Left
	}
	return sum, nil
}
