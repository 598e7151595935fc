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

// folderMode is that of a folder made for the socket.
const folderMode = 0o770

// makeFolder leaves a folder that exists as it is.
func makeFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	// The umask may have taken bits away. By its path the mode could become that of
	// another folder, to which somebody has put a link there meanwhile.
	d, err := os.OpenFile(folder, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(folderMode)
}

// OpenToOthers is the problem of a folder in which every user may put a file of their own in
// the socket's place: clients would then talk to that. Nil = the folder has it not.
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

// Folder finds what keeps Listen from making the socket in its folder, or the folder itself; nil = nothing does. It changes
// nothing.
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
			ID: FolderCheck, Cause: "the socket's folder cannot be looked at: " + err.Error(), Fix: "give this user a way to it, or set socket.path to another folder",
		}
	}
}

// usable asks the system whether this process may make files in a folder, and read it, since a start locks it.
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
	// turnEvery is how often it looks.
	turnEvery = 10 * time.Millisecond
)

// lockFolder waits for the turn of this start. Whoever may read the folder may lock
// it, for ever: then it goes on without, since that is no start of a sidecar, and
// it must not be able to keep one from starting.
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
	// Where the file system has no such locks, taking turns is left to whoever
	// starts sidecars.
	if err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOSYS) {
		_ = d.Close()
		return nil, fmt.Errorf("lock its folder: %w", err)
	}
	return func() { _ = d.Close() }, nil
}

// lockedBy names who holds the lock of a file, as far as the kernel tells: it shows
// no processes of other namespaces.
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
