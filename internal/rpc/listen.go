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
)

// maxPath is the longest path that a socket's address holds, in bytes.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// folderMode is that of a folder made for the socket.
const folderMode = 0o770

// probeTime bounds finding out whether a socket file is alive.
const probeTime = time.Second

// takePath listens on the socket's path with its mode and owner set before
// anyone can connect. It takes over the file of a sidecar that is gone and
// refuses the path of one that lives.
//
// Two sidecars that start at once would both find a dead file, and the slower
// one would remove the socket of the faster: a lock on the folder makes them
// take turns. It leaves no file behind and ends with the process.
func takePath(o *Options) (*net.UnixListener, os.FileInfo, error) {
	fail := func(err error) (*net.UnixListener, os.FileInfo, error) {
		return nil, nil, fmt.Errorf("socket %s: %w", o.Path, err)
	}
	if err := checkPath(o.Path); err != nil {
		return fail(err)
	}
	folder := filepath.Dir(o.Path)
	if err := makeFolder(folder); err != nil {
		return fail(err)
	}
	unlock, err := lockFolder(folder)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if err := clearPath(o.Path); err != nil {
		return fail(err)
	}
	l, err := bind(o)
	if err != nil {
		return fail(err)
	}
	info, err := os.Lstat(o.Path)
	if err != nil {
		_ = l.Close()
		return fail(err)
	}
	return l, info, nil
}

func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("no path; set socket.path or COXSWAIN_SOCKET")
	case path[0] == '@' || strings.IndexByte(path, 0) >= 0:
		return errors.New("not the path of a file: abstract sockets have no mode or owner to keep others out")
	case len(path) > maxPath:
		return fmt.Errorf("the path has %d bytes, and the system takes at most %d: set socket.path or COXSWAIN_SOCKET to a shorter one", len(path), maxPath)
	default:
		return nil
	}
}

// makeFolder leaves a folder that exists as it is.
func makeFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	return os.Chmod(folder, folderMode) // the umask may have taken bits away
}

func lockFolder(folder string) (unlock func(), err error) {
	d, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	// Where the file system has no such locks, taking turns is left to whoever
	// starts sidecars.
	if err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOSYS) {
		_ = d.Close()
		return nil, fmt.Errorf("lock its folder: %w", err)
	}
	return func() { _ = d.Close() }, nil
}

// clearPath removes the socket file of a sidecar that is gone, and nothing else.
func clearPath(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file that is no socket is in the way: remove it, or set socket.path to another path")
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = nc.Close()
		return errors.New("another sidecar listens there: stop it, or set socket.path to another path")
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("cannot find out whether another sidecar listens there: %w; remove the file if none does", err)
	}
}

// bind makes the socket. Linux gives the file the mode that the socket had
// before it was bound, so it starts with none at all: nobody can connect until
// owner and mode are as they should be. An umask would do the same, but to
// every file that the process makes meanwhile.
func bind(o *Options) (*net.UnixListener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if cerr := raw.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0) }); cerr != nil {
			return cerr
		}
		return err
	}}
	nl, err := lc.Listen(context.Background(), "unix", o.Path)
	if err != nil {
		return nil, err
	}
	l, _ := nl.(*net.UnixListener)
	// The file is removed by who knows that it is still this socket's.
	l.SetUnlinkOnClose(false)
	if err = own(o); err != nil {
		_ = l.Close()
		_ = os.Remove(o.Path)
		return nil, err
	}
	return l, nil
}

func own(o *Options) error {
	if o.UID != -1 || o.GID != -1 {
		if err := os.Lchown(o.Path, o.UID, o.GID); err != nil {
			return fmt.Errorf("give it to uid %d, gid %d: %w; only root gives files away: leave socket.uid and socket.gid unset, or run as that user", o.UID, o.GID, err)
		}
	}
	return os.Chmod(o.Path, o.Mode)
}

// removePath removes the socket file if it is still the one that was made.
func removePath(path string, made os.FileInfo) error {
	info, err := os.Lstat(path)
	if err == nil && os.SameFile(info, made) {
		return os.Remove(path)
	}
	return nil
}

// peer asks the kernel who connected. Of the groups it knows the primary one
// only.
func peer(nc *net.UnixConn) (uid, gid int, err error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *syscall.Ucred
	if cerr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); cerr != nil {
		return 0, 0, cerr
	}
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Gid), nil
}
