package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
)

// addSocketFlag gives a command that talks to a sidecar its address.
func addSocketFlag(cmd *cobra.Command, p process) *string {
	return cmd.Flags().String("socket", config.SocketPath(p.env), "`path` of the sidecar's socket")
}

// dial connects to a sidecar. Unless it may wait, it answers at once when nobody
// is there; either way the error says exactly why.
func dial(ctx context.Context, socket, name string, mayWait bool) (*client.Client, error) {
	c, err := client.Dial(ctx, client.Options{Socket: socket, Client: name, Version: version, FailFast: !mayWait})
	if err != nil {
		return nil, &exit{exitUnreachable, unreachable(socket, err)}
	}
	return c, nil
}

// unreachable says why there is no connection to the socket and what to do.
func unreachable(socket string, err error) error {
	return fmt.Errorf("cannot reach the sidecar at %s: %w", socket, doctor.Unreachable(socket, err))
}

// isConnectError reports whether a call failed for want of a connection.
func isConnectError(err error) bool {
	var connect *client.ConnectError
	var op *net.OpError
	return errors.As(err, &connect) || errors.As(err, &op)
}
