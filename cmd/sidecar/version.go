package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newVersion(p process) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  sidecar version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("sidecar %s%s, protocol %d, %s %s/%s",
		version, revision(), api.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that the build saw, if any.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return ""
}
