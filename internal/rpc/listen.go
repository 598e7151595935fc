package rpc

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
	"time"

	"golang.org/x/sys/unix"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// maxPath is the longest path that the address of a socket can have, in bytes.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// probeTime is the timeout of the check whether a sidecar listens on a socket file.
const probeTime = time.Second

// takePath listens on the socket's path with its mode and owner set before
// anyone can connect. It replaces the socket file of a sidecar that has ended, and
// fails if a running sidecar listens on the path.
//
// Two sidecars that start at once would both find the old file, and the slower
// one would remove the socket of the faster: a lock on the folder makes them
// take turns. The lock leaves no file behind and ends with the process.
func takePath(o *Options) (*net.UnixListener, os.FileInfo, error) {
	fail := func(err error) (*net.UnixListener, os.FileInfo, error) {
		return nil, nil, fmt.Errorf("socket %s: %w", o.Path, err)
	}
	if err := checkPath(o.Path); err != nil {
		return fail(err)
	}
	folder := filepath.Dir(o.Path)
	if p := Folder(folder); p != nil {
		return fail(p)
	}
	if err := makeFolder(folder); err != nil {
		return fail(&finding.Problem{
			ID: FolderCheck, Err: err, Cause: "the socket's folder cannot be made: " + err.Error(), Fix: "make it, or set socket.path to a path in another folder",
		})
	}
	if p := OpenToOthers(folder); p != nil {
		o.Log.Warn(p.Cause, "fix", p.Fix, "docs", finding.Docs(p.ID))
	}
	unlock, err := lockFolder(folder, o.Log)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if err := clearPath(o.Path); err != nil {
		return fail(err)
	}
	l, info, err := bind(o)
	if err != nil {
		return fail(err)
	}
	return l, info, nil
}

// The checks of sidecar doctor for problems that keep the socket from being made.
const (
	FolderCheck = "socket-folder"
	FileCheck   = "socket-file"
)

func fileProblem(cause, fix string) *finding.Problem {
	return &finding.Problem{ID: FileCheck, Cause: cause, Fix: fix}
}

func checkPath(path string) error {
	const other = "set socket.path or COXSWAIN_SOCKET to "
	switch {
	case path == "":
		return fileProblem("no path", other+"the path of a file")
	case path[0] == '@' || strings.IndexByte(path, 0) >= 0:
		return fileProblem("not the path of a file: abstract sockets have no mode or owner to keep others out", other+"the path of a file")
	case len(path) > maxPath:
		return fileProblem(fmt.Sprintf("the path has %d bytes, and the system takes at most %d", len(path), maxPath), other+"a shorter one")
	default:
		return nil
	}
}

// clearPath removes the socket file of a sidecar that has ended, and no other file.
func clearPath(path string) error {
	stale, err := Occupied(path)
	if stale && err == nil {
		return os.Remove(path)
	}
	return err
}

// Occupied checks the socket's path. It returns stale = true for the socket file of a sidecar that has ended, which
// Listen replaces, and a *finding.Problem for anything that Listen does not replace. It changes nothing.
func Occupied(path string) (stale bool, err error) {
	if err := checkPath(path); err != nil {
		return false, err
	}
	const free = "or set socket.path to another path"
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().Type() != fs.ModeSocket:
		return false, fileProblem("a file that is no socket is in the way", "remove it, "+free)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = nc.Close()
		return false, fileProblem("another sidecar listens there", "stop it, "+free)
	case errors.Is(err, syscall.ECONNREFUSED):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fileProblem(fmt.Sprintf("cannot find out whether another sidecar listens there: %v", err), "remove the file if none does, "+free)
	}
}

// bind makes the socket. Linux gives the file the mode that the socket had
// before it was bound, so bind gives the socket mode 0: nobody can connect until
// owner and mode are set. An umask would do the same, but to every file that the
// process makes meanwhile.
func bind(o *Options) (*net.UnixListener, os.FileInfo, error) {
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if cerr := raw.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0) }); cerr != nil {
			return cerr
		}
		return err
	}}
	nl, err := lc.Listen(context.Background(), "unix", o.Path)
	if err != nil {
		return nil, nil, err
	}
	l, _ := nl.(*net.UnixListener)
	// removePath removes the file, after it has checked that the file is still this socket's.
	l.SetUnlinkOnClose(false)
	made, err := own(o)
	if err != nil {
		_ = l.Close()
		if made != nil {
			_ = removePath(o.Path, made)
		}
		return nil, nil, err
	}
	return l, made, nil
}

var errReplaced = &finding.Problem{
	ID: FolderCheck, Cause: "another file is where the socket was just made",
	Fix: "keep other users out of its folder, or set socket.path to one that only this user may change",
}

// own sets owner and mode of the socket file that was just made, through a descriptor.
// Through the path it could change another file, if a user who may write to the folder
// has replaced the socket by a link meanwhile. It returns the file's info, also with an
// error that comes after it has found the file to be the socket that was made.
func own(o *Options) (os.FileInfo, error) {
	f, err := os.OpenFile(o.Path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errReplaced, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || info.Mode() != fs.ModeSocket || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return nil, errReplaced // bind made a socket with mode 0 that belongs to this user
	}
	fd := int(f.Fd())
	if o.UID != -1 || o.GID != -1 {
		if err := unix.Fchownat(fd, "", o.UID, o.GID, unix.AT_EMPTY_PATH); err != nil {
			return info, fileProblem(fmt.Sprintf("give it to uid %d, gid %d: %v; only root gives files away", o.UID, o.GID, err),
				"leave socket.uid and socket.gid unset, or run as that user")
		}
	}
	// fchmod does not take an O_PATH descriptor; the link in /proc leads to its file and no other.
	if err := os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), o.Mode); err != nil {
		return info, fileProblem(fmt.Sprintf("set its mode: %v", err), "mount /proc")
	}
	return info, nil
}

// removePath removes the socket file if it is still the one that was made.
func removePath(path string, made os.FileInfo) error {
	info, err := os.Lstat(path)
	if err == nil && os.SameFile(info, made) {
		return os.Remove(path)
	}
	return nil
}
