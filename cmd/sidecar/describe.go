package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

func newDescribe(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "describe METHOD",
		Short: "Describe a method: its parameters, result and guarantees",
		Long: `Describe a method of this binary's protocol, without asking a sidecar.
To ask a running one: sidecar call rpc.describe '{"method":"lock.acquire"}'`,
		Example:           "  sidecar describe lock.acquire",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeMethods,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := lookup(args[0])
			if err != nil {
				return err
			}
			return describe(p.out, s)
		},
	}
}

// lookup finds a method of this binary.
func lookup(name string) (*api.Spec, error) {
	if s, ok := api.Lookup(name); ok {
		return s, nil
	}
	if meant, ok := nearest.Name(name, methodNames()); ok {
		return nil, usage("%s: no such method; did you mean %s?", name, meant)
	}
	return nil, usage("%s: no such method; sidecar methods lists them", name)
}

func methodNames() []string {
	names := make([]string, len(api.Methods()))
	for i, m := range api.Methods() {
		names[i] = m.Name
	}
	return names
}

func describe(to io.Writer, s *api.Spec) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n  %s\n  %s\n", s.Name, s.Summary, guarantees(s))
	if s.Params.NumField() > 0 {
		fmt.Fprintln(w, "\nparams")
		describeKeys(w, s.Params, "  ", param)
	}
	if s.Result.NumField() > 0 {
		fmt.Fprintln(w, "\nresult")
		describeKeys(w, s.Result, "  ", resultKey)
	}
	return w.Flush()
}

func guarantees(s *api.Spec) string {
	all := []string{"since " + s.Since}
	if s.Idempotent {
		all = append(all, "idempotent")
	} else {
		all = append(all, "not idempotent: repeat it only with a "+api.MetaRequestID)
	}
	switch {
	case s.NotifyOnly:
		all = append(all, "only as a notification")
	case s.Notify:
		all = append(all, "also as a notification")
	}
	if s.Admin {
		all = append(all, "admin")
	}
	return strings.Join(all, "; ")
}

// describeKeys writes one line for each key, and the keys of inner maps indented below. It leaves out
// inner maps of the same type as an outer one, which would never end.
func describeKeys(w io.Writer, t reflect.Type, indent string, note func(api.Field) string, outer ...reflect.Type) {
	outer = append(outer, t)
	for _, f := range api.Fields(t) {
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\n", indent, f.Name, f.Kind, note(f), f.Doc)
		if f.Elem != nil && !slices.Contains(outer, f.Elem) {
			describeKeys(w, f.Elem, indent+"  ", note, outer...)
		}
	}
}

// param returns whether a parameter is required, its default, its values and its range.
func param(f api.Field) string {
	var all []string
	switch {
	case f.Required:
		all = append(all, "required")
	case f.Default != "":
		all = append(all, "default "+f.Default)
	}
	if len(f.Enum) > 0 {
		all = append(all, strings.Join(f.Enum, "|"))
	}
	if f.Kind == api.KindInt && (f.Min != -api.MaxInt || f.Max != api.MaxInt) {
		all = append(all, fmt.Sprintf("%d to %d", f.Min, f.Max))
	}
	return strings.Join(all, ", ")
}

func resultKey(f api.Field) string {
	if len(f.Enum) > 0 {
		return strings.Join(f.Enum, "|")
	}
	return ""
}
