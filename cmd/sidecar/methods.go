package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newMethods(p process) *cobra.Command {
	return &cobra.Command{
		Use:   "methods",
		Short: "List the methods of the protocol",
		Long: `List the methods of this binary's protocol, without asking a sidecar.
To ask a running one: sidecar call rpc.methods`,
		Example: "  sidecar methods",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			for _, m := range api.Methods() {
				fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Summary)
			}
			return w.Flush()
		},
	}
}
