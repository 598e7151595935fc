package rpc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// folderMode is the mode of a folder that is made for the socket.
const folderMode = 0o770

// makeFolder leaves a folder that exists as it is.
func makeFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	// The umask may have removed bits. The mode is set by a descriptor, not by the path, in
	// whose place another user may have put a link to another folder meanwhile.
	d, err := os.OpenFile(folder, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(folderMode)
}

// OpenToOthers returns a problem if every user may replace the socket in the folder by a file of
// their own, to which clients would then connect; nil = no such problem.
func OpenToOthers(folder string) *finding.Problem {
	info, err := os.Stat(folder)
	if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &finding.Problem{
			ID: FolderCheck, Warns: true, Fix: "use chmod o-w, or chmod +t",
			Cause: fmt.Sprintf("every user may replace the socket, since its folder %s (mode %04o) lets others write and is not sticky",
				folder, info.Mode().Perm()),
		}
	}
	return nil
}

// Folder returns the problem that keeps Listen from making the socket in its folder, or the folder itself; nil =
// none. It changes nothing.
func Folder(folder string) *finding.Problem {
	info, err := os.Stat(folder)
	switch {
	case err == nil && !info.IsDir():
		return &finding.Problem{
			ID: FolderCheck, Cause: folder + " is a file, and the socket needs a folder", Fix: "remove it, or set socket.path to a path in a folder",
		}
	case err == nil:
		return usable(folder, "the socket cannot be made in its folder "+folder)
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && folder != filepath.Dir(folder):
		if above := Folder(filepath.Dir(folder)); above != nil {
			return &finding.Problem{ID: FolderCheck, Cause: "there is no folder " + folder + " and it cannot be made: " + above.Cause, Fix: above.Fix}
		}
		return nil
	default:
		return &finding.Problem{
			ID: FolderCheck, Cause: "the socket's folder cannot be accessed: " + err.Error(), Fix: "give this user access to it, or set socket.path to another folder",
		}
	}
}

// usable returns a problem if this process may not make files in a folder, or not read it, which a
// start must do to lock it.
func usable(folder, what string) *finding.Problem {
	err := unix.Faccessat(unix.AT_FDCWD, folder, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == nil {
		return nil
	}
	fix := "give uid " + strconv.Itoa(os.Geteuid()) + " read, write and execute permission on it, or set socket.path to another folder"
	if errors.Is(err, unix.EROFS) {
		fix = "mount it without readOnly, or set socket.path to another folder"
	}
	return &finding.Problem{ID: FolderCheck, Cause: what + ": " + err.Error(), Fix: fix, Err: err}
}

const (
	// turnTime is how long a start waits for its turn. Starts that are under way at
	// once hold the folder's lock for milliseconds.
	turnTime = 2 * time.Second
	// turnEvery is how often it tries the lock.
	turnEvery = 10 * time.Millisecond
)

// lockFolder waits for the turn of this start. Any process that may read the folder may
// lock it for ever. If the lock is held for too long to be the start of a sidecar,
// lockFolder goes on without it, so that such a process cannot keep a sidecar from starting.
func lockFolder(folder string, log *slog.Logger) (unlock func(), err error) {
	d, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(turnTime); ; time.Sleep(turnEvery) {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		if time.Now().After(until) {
			log.Warn("the socket's folder is locked by another process for too long to be a sidecar that starts: going on without the lock; "+
				"end that process, or keep it out of the folder, and start only one sidecar at a time until then",
				"folder", folder, "process", lockedBy(d), "waited", turnTime.String())
			return func() { _ = d.Close() }, nil
		}
	}
	// If the file system has no such locks, sidecars must not be started at the same time.
	if err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOSYS) {
		_ = d.Close()
		return nil, fmt.Errorf("lock its folder: %w", err)
	}
	return func() { _ = d.Close() }, nil
}

// lockedBy returns the process that holds the lock of a file, if the kernel shows it:
// it shows no processes of other namespaces.
func lockedBy(f *os.File) string {
	const unknown = "not visible from here"
	info, err := f.Stat()
	if err != nil {
		return unknown
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.Open("/proc/locks")
	if !ok || err != nil {
		return unknown
	}
	defer locks.Close()
	inode := fmt.Sprintf(":%d", st.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF; the waiting ones have an arrow.
		field := strings.Fields(lines.Text())
		if len(field) < 6 || field[1] != "FLOCK" || !strings.HasSuffix(field[5], inode) {
			continue
		}
		name, err := os.ReadFile("/proc/" + field[4] + "/comm")
		if err != nil {
			return field[4]
		}
		return field[4] + " (" + strings.TrimSpace(string(name)) + ")"
	}
	return unknown
}
