package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// listPage is how many rows one call asks for.
const listPage = 1000

// listing prints all rows that a method of the contract lists, page by page. The params have cursor and count, and maybe
// state; the result has a list of rows and a cursor.
type listing[P, R, E any] struct {
	method  api.Method[P, R]
	columns []column[E]
}

// column is a column of a table. The first column has the name of the row.
type column[E any] struct {
	title string
	of    func(E) string
}

// listFlags are the flags of all commands that list.
type listFlags struct {
	p              process
	name, state    string
	socket, output *string
	limit          *int
	timeout        *time.Duration
}

func addListFlags(cmd *cobra.Command, p process, name string, params reflect.Type) *listFlags {
	f := &listFlags{p: p, name: name}
	if at := coord.ParamAt(params, "state"); at >= 0 {
		states := api.Fields(params)[at].Enum
		addChoice(cmd, &f.state, "state", "", "only those in this `state`: "+strings.Join(states, ", "), states...)
	}
	f.limit = cmd.Flags().Int("limit", 100, "`n` rows at most; 0 = all")
	f.socket = addSocketFlag(cmd, p)
	f.timeout = cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that each call may take")
	f.output = addOutput(cmd, "", "`format`: table, or json (a line each, by the method's names); default table on a terminal, else json",
		outputTable, outputJSON)
	return f
}

func (f *listFlags) check() error {
	if *f.limit < 0 {
		return usage("--limit %d is out of range; give 1 or more, or 0 for all", *f.limit)
	}
	return nil
}

// command makes `sidecar <noun> list`.
func (l listing[P, R, E]) command(p process, noun, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: short, Long: long, Args: cobra.NoArgs,
		Example: "  sidecar " + noun + " list\n  sidecar " + noun + " list --limit 0 -o json",
	}
	f := addListFlags(cmd, p, "sidecar "+noun+" list", reflect.TypeFor[P]())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var params P
		return l.run(cmd.Context(), f, params)
	}
	return cmd
}

// run lists with params, whose cursor, count and state it sets.
func (l listing[P, R, E]) run(ctx context.Context, f *listFlags, params P) error {
	if err := f.check(); err != nil {
		return err
	}
	c, err := dial(ctx, *f.socket, f.name, false)
	if err != nil {
		return err
	}
	defer c.Close()
	to := reflect.ValueOf(&params).Elem()
	if f.state != "" {
		to.Field(coord.ParamAt(to.Type(), "state")).SetString(f.state)
	}
	to.Field(coord.ParamAt(to.Type(), "count")).SetInt(listPage)
	put, flush := l.printer(f)
	seen := make(map[string]bool)
	for {
		rows, cursor, err := l.page(ctx, c, f, params)
		if err != nil {
			return err
		}
		for _, row := range rows {
			name := l.columns[0].of(row)
			if seen[name] { // pages may repeat a row
				continue
			}
			if seen[name] = true; *f.limit > 0 && len(seen) > *f.limit {
				fmt.Fprintf(f.p.err, "there are more than %d; --limit 0 lists all\n", *f.limit)
				return flush()
			}
			if err := put(row); err != nil {
				return err
			}
		}
		if cursor == "" {
			return flush()
		}
		to.Field(coord.ParamAt(to.Type(), "cursor")).SetString(cursor)
	}
}

// page reads one page of rows.
func (l listing[P, R, E]) page(ctx context.Context, c *client.Client, f *listFlags, params P) (rows []E, cursor string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, *f.timeout)
	defer cancel()
	r, err := client.Call(ctx, c, l.method, params)
	switch {
	case isConnectError(err):
		return nil, "", &exit{exitUnreachable, unreachable(*f.socket, err)}
	case errors.Is(err, context.DeadlineExceeded):
		return nil, "", fmt.Errorf("%w: no answer within --timeout", api.DeadlineExceeded)
	case err != nil:
		return nil, "", err
	}
	rows, cursor = l.rows(r)
	return rows, cursor, nil
}

// rows returns the rows of a result, and the cursor of the next page.
func (l listing[P, R, E]) rows(r R) (rows []E, cursor string) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if some, ok := v.Field(i).Interface().([]E); ok {
			rows = some
		}
	}
	return rows, v.Field(coord.ParamAt(v.Type(), "cursor")).String()
}

// names returns the names of the rows of the first page.
func (l listing[P, R, E]) names(ctx context.Context, c *client.Client) ([]string, error) {
	var params P
	at := reflect.ValueOf(&params).Elem()
	at.Field(coord.ParamAt(at.Type(), "count")).SetInt(listPage)
	r, err := client.Call(ctx, c, l.method, params)
	rows, _ := l.rows(r)
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = l.columns[0].of(row)
	}
	return all, err
}

// printer prints rows as JSON, or as a table, which flush prints.
func (l listing[P, R, E]) printer(f *listFlags) (put func(E) error, flush func() error) {
	if *f.output == outputJSON || *f.output == "" && !telemetry.IsTerminal(f.p.out) {
		return func(row E) error { return printJSON(f.p.out, api.AsWire(row), outputJSON) }, func() error { return nil }
	}
	w := tabwriter.NewWriter(f.p.out, 0, 0, 2, ' ', 0)
	line := func(of func(column[E]) string) error {
		cells := make([]string, len(l.columns))
		for i, c := range l.columns {
			cells[i] = api.Printable(of(c))
		}
		_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
		return err
	}
	_ = line(func(c column[E]) string { return c.title }) // w keeps it until the flush
	return func(row E) error { return line(func(c column[E]) string { return c.of(row) }) }, w.Flush
}
