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

// addSocketFlag adds the flag --socket to a command that calls a sidecar.
func addSocketFlag(cmd *cobra.Command, p process) *string {
	return cmd.Flags().String("socket", config.SocketPath(p.env), "`path` of the sidecar's socket")
}

// dial connects to a sidecar. Unless mayWait is set, it fails at once if no sidecar listens on the socket.
// The error has the cause and the fix.
func dial(ctx context.Context, socket, name string, mayWait bool) (*client.Client, error) {
	c, err := client.Dial(ctx, client.Options{Socket: socket, Client: name, Version: version, FailFast: !mayWait})
	if err != nil {
		return nil, &exit{exitUnreachable, unreachable(socket, err)}
	}
	return c, nil
}

// unreachable returns an error with the cause and the fix of a failed connection to the socket.
func unreachable(socket string, err error) error {
	return fmt.Errorf("cannot reach the sidecar at %s: %w", socket, doctor.Unreachable(socket, err))
}

// isConnectError reports whether a call failed since there was no connection.
func isConnectError(err error) bool {
	var connect *client.ConnectError
	var op *net.OpError
	return errors.As(err, &connect) || errors.As(err, &op)
}
