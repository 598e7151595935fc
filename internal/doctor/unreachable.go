package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// Unreachable returns the problem for which there is no connection to a sidecar's socket. It inspects the path, because
// the error alone does not distinguish a missing group from a closed folder, or a dead sidecar's file from a wrong path.
func Unreachable(socket string, err error) *finding.Problem {
	if len(socket) > config.MaxSocketPath {
		return failure(fileID, fmt.Sprintf("the path has %d bytes; the operating system takes at most %d", len(socket), config.MaxSocketPath),
			"choose a shorter one")
	}
	info, statErr := os.Stat(socket)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return missing(socket)
	case errors.Is(statErr, fs.ErrPermission):
		return closedFolder(socket)
	case errors.Is(statErr, syscall.ENOTDIR):
		if p := rpc.Folder(filepath.Dir(socket)); p != nil {
			return failure(folderID, p.Cause, "name the socket with --socket or "+config.EnvSocket)
		}
		fallthrough
	case statErr != nil:
		return failure(fileID, statErr.Error(), "name the socket with --socket or "+config.EnvSocket)
	case info.Mode().Type() != fs.ModeSocket:
		return failure(fileID, fmt.Sprintf("it is %s, not a socket", kindOf(info)), "name the socket with --socket or "+config.EnvSocket)
	case errors.Is(err, fs.ErrPermission):
		return failure(fileID, fmt.Sprintf("permission denied\n  the socket is %s\n  this process is %s\n  connecting needs write permission",
			described(info), whoami()), admission(info))
	case errors.Is(err, syscall.ECONNREFUSED):
		return failure(fileID, "nobody listens on it: the file was left by a sidecar that died", "start one: it takes the file over")
	case errors.Is(err, context.DeadlineExceeded):
		return failure(sidecarID, "it listens and does not answer in time: it hangs or has no CPU", "look at its log and at its CPU limit; restart it")
	default:
		return failure(sidecarID, fmt.Sprintf("%v\n  it listens, and turns this process away or is no sidecar\n  this process is %s", cause(err), whoami()),
			"look at its log, which says which: limits.max_connections, socket.allowed_uids, socket.allowed_gids")
	}
}

// cause returns the error without the path and the remedy that the client adds.
func cause(err error) error {
	var connect *client.ConnectError
	if errors.As(err, &connect) {
		return connect.Err
	}
	return err
}

func missing(socket string) *finding.Problem {
	hint := fmt.Sprintf("start it with sidecar serve, or name its socket with --socket or %s", config.EnvSocket)
	dir := filepath.Dir(socket)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return failure(folderID, "there is no folder "+dir, "in a pod, mount the sidecar's volume there; else "+hint)
	}
	return failure(fileID, "there is no such file", hint)
}

// closedFolder finds the folder on the path to the socket that this process may not pass through.
func closedFolder(socket string) *finding.Problem {
	unknown := func(err error) *finding.Problem {
		return failure(folderID, err.Error(), "name the socket with --socket or "+config.EnvSocket)
	}
	abs, err := filepath.Abs(socket)
	if err != nil {
		return unknown(err)
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
		return unknown(err)
	}
	return failure(folderID, fmt.Sprintf("permission denied\n  the folder %s is %s\n  this process is %s\n  passing through it needs execute permission on it",
		dir, described(info), whoami()), admission(info))
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

// described returns mode and owner in numbers.
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
	groups, _ := os.Getgroups() // without them the text is shorter, not wrong
	ids := make([]string, len(groups))
	for i, g := range groups {
		ids[i] = fmt.Sprint(g)
	}
	return fmt.Sprintf("uid %d, gid %d, groups [%s]", os.Geteuid(), os.Getegid(), strings.Join(ids, " "))
}

// admission returns the fix that gives a process access by owner or group.
func admission(info fs.FileInfo) string {
	uid, gid := owner(info)
	return fmt.Sprintf("run as uid %d or with group %d (in a pod: securityContext.supplementalGroups: [%d]), "+
		"or set socket.gid or socket.mode of the sidecar", uid, gid, gid)
}
