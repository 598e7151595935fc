package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/internal/config"
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

// unreachable says why there is no connection to the socket and what to do,
// from what its path looks like: the error alone does not tell a missing group
// from a closed folder, or a dead sidecar's file from a wrong path.
func unreachable(socket string, err error) error {
	return fmt.Errorf("cannot reach the sidecar at %s: %s", socket, diagnose(socket, err))
}

func diagnose(socket string, err error) string {
	if len(socket) > config.MaxSocketPath {
		return fmt.Sprintf("the path has %d bytes; the operating system takes at most %d: choose a shorter one", len(socket), config.MaxSocketPath)
	}
	info, statErr := os.Stat(socket)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return missing(socket)
	case errors.Is(statErr, fs.ErrPermission):
		return closedFolder(socket)
	case statErr != nil:
		return statErr.Error()
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Sprintf("it is %s, not a socket; name the socket with --socket or %s", kindOf(info), config.EnvSocket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("permission denied\n  the socket is %s\n  this process is %s\n  connecting needs write permission: %s",
			described(info), whoami(), remedy(info))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens on it: the file was left by a sidecar that died; the next one that starts takes it over"
	case errors.Is(err, context.DeadlineExceeded):
		return "it listens and does not answer in time: it hangs or has no CPU; its log may say more"
	default:
		return fmt.Sprintf("%v\n  it listens, and turns this process away or is no sidecar; its log says which "+
			"(limits.max_connections, socket.allowed_uids, socket.allowed_gids)\n  this process is %s", cause(err), whoami())
	}
}

// cause is what went wrong, without the path and the client's guess at a remedy.
func cause(err error) error {
	var connect *client.ConnectError
	if errors.As(err, &connect) {
		return connect.Err
	}
	return err
}

func missing(socket string) string {
	hint := fmt.Sprintf("start it with sidecar serve, or name its socket with --socket or %s", config.EnvSocket)
	dir := filepath.Dir(socket)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("there is no folder %s; in a pod, mount the sidecar's volume there; else %s", dir, hint)
	}
	return "there is no such file; " + hint
}

// closedFolder finds the folder on the way to the socket that keeps us out.
func closedFolder(socket string) string {
	abs, err := filepath.Abs(socket)
	if err != nil {
		return err.Error()
	}
	dir := "/"
	for _, part := range strings.Split(filepath.Dir(abs), "/")[1:] {
		next := filepath.Join(dir, part)
		if _, err := os.Stat(next); err != nil {
			break
		}
		dir = next
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("permission denied\n  the folder %s is %s\n  this process is %s\n  passing through it needs execute permission on it: %s",
		dir, described(info), whoami(), remedy(info))
}

func kindOf(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case 0:
		return "a regular file"
	case fs.ModeDir:
		return "a folder"
	default:
		return "a file of mode " + info.Mode().String()
	}
}

// described is mode and owner, as ls -n shows them.
func described(info fs.FileInfo) string {
	uid, gid := owner(info)
	return fmt.Sprintf("mode %04o of uid %d, gid %d", info.Mode().Perm(), uid, gid)
}

func owner(info fs.FileInfo) (uid, gid uint32) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid, st.Gid
	}
	return 0, 0
}

func whoami() string {
	groups, _ := os.Getgroups() // without them the answer is shorter, not wrong
	ids := make([]string, len(groups))
	for i, g := range groups {
		ids[i] = fmt.Sprint(g)
	}
	return fmt.Sprintf("uid %d, gid %d, groups [%s]", os.Geteuid(), os.Getegid(), strings.Join(ids, " "))
}

func remedy(info fs.FileInfo) string {
	uid, gid := owner(info)
	return fmt.Sprintf("run as uid %d or with group %d (in a pod: securityContext.supplementalGroups: [%d]), "+
		"or set socket.gid or socket.mode of the sidecar", uid, gid, gid)
}

// isConnectError reports whether a call failed for want of a connection.
func isConnectError(err error) bool {
	var connect *client.ConnectError
	var op *net.OpError
	return errors.As(err, &connect) || errors.As(err, &op)
}
