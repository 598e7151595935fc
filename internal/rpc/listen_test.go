package rpc_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// listen starts a server that is shut down at the end of the test.
func listen(t testing.TB, o rpc.Options) (*rpc.Server, error) {
	t.Helper()
	leases := lease.NewLeases(telemetry.Nop())
	t.Cleanup(func() { leases.Stop(context.Background()) })
	if o.Mode == 0 {
		o.Mode = 0o660
	}
	o.UID, o.GID = -1, -1
	s, err := rpc.Listen(o, rpc.Services{Leases: leases})
	if err == nil {
		t.Cleanup(func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.NoError(t, s.Shutdown(ctx))
		})
	}
	return s, err
}

// deadSocket leaves a socket file on which no process listens, as kill -9 does.
func deadSocket(t testing.TB, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

func modeOf(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func TestTheSocketHasItsMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o660, 0o600, 0o666} {
		path := filepath.Join(t.TempDir(), "s.sock")
		_, err := listen(t, rpc.Options{Path: path, Mode: mode})
		require.NoError(t, err)
		require.Equal(t, fs.ModeSocket|mode, modeOf(t, path))
	}
}

func TestTheSocketGoesToItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	o := rpc.Options{Path: path, Mode: 0o660, UID: os.Getuid(), GID: os.Getgid()}
	leases := lease.NewLeases(telemetry.Nop())
	defer leases.Stop(context.Background())
	s, err := rpc.Listen(o, rpc.Services{Leases: leases})
	require.NoError(t, err)
	require.NoError(t, s.Shutdown(context.Background()))
	require.NoFileExists(t, path)
}

func TestTheFolderOfTheSocketIsMadeOrLeftUnchanged(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run", "coxswain")
	_, err := listen(t, rpc.Options{Path: filepath.Join(folder, "s.sock")})
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o770, modeOf(t, folder))

	kept := t.TempDir()
	require.NoError(t, os.Chmod(kept, 0o711))
	_, err = listen(t, rpc.Options{Path: filepath.Join(kept, "s.sock")})
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o711, modeOf(t, kept))
}

func TestTheFileOfADeadSidecarIsTakenOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	deadSocket(t, path)
	s, err := listen(t, rpc.Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Alive(context.Background()))
}

func TestALiveSidecarIsNotDisturbed(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{})
	p := b.dial(t)
	p.alive()
	_, err := listen(t, rpc.Options{Path: b.path})
	require.ErrorContains(t, err, b.path)
	require.ErrorContains(t, err, "another sidecar listens there; stop it, or set socket.path")
	p.alive()
	b.dial(t).alive()
}

func TestAPathThatIsTooLongSaysTheLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("x", 107-len(dir)-1))
	require.Len(t, path, 107)
	_, err := listen(t, rpc.Options{Path: path})
	require.NoError(t, err)

	_, err = listen(t, rpc.Options{Path: path + "x"})
	require.ErrorContains(t, err, "108 bytes")
	require.ErrorContains(t, err, "at most 107; set socket.path")
	require.NoFileExists(t, path+"x")
}

func TestPathsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), link))
	for path, want := range map[string]string{
		"":                            "no path; set socket.path",
		"@abstract":                   "abstract sockets",
		file:                          "no socket is in the way",
		dir:                           "no socket is in the way",
		link:                          "no socket is in the way",
		filepath.Join(file, "s.sock"): "is a file, and the socket needs a folder",
	} {
		_, err := listen(t, rpc.Options{Path: path})
		require.ErrorContains(t, err, want, path)
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))
}

// If many sidecars find the same old socket file at once, one replaces it and keeps running.
func TestSidecarsThatStartTogetherTakeTurns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	deadSocket(t, path)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []*rpc.Server
	for range 8 {
		wg.Go(func() {
			s, err := listen(t, rpc.Options{Path: path})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				winners = append(winners, s)
				return
			}
			if !strings.Contains(err.Error(), "another sidecar listens there") {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	require.Len(t, winners, 1)
	require.NoError(t, winners[0].Alive(context.Background()))
}

func TestPeersThatAreNotAllowedAreClosed(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	b := serve(t, rpc.Options{AllowedUIDs: []int{os.Getuid() + 1}, Telemetry: count.telemetry})
	b.dial(t).closed()
	require.EqualValues(t, 1, count.value("coxswain.connections.closed", "forbidden"))
	require.Contains(t, b.log.String(), "reason=forbidden uid="+itoa(os.Getuid()))
	require.NoError(t, b.Alive(context.Background()), "being turned away is an answer")

	serve(t, rpc.Options{AllowedUIDs: []int{1 << 30, os.Getuid()}}).dial(t).alive()
	serve(t, rpc.Options{AllowedUIDs: []int{1 << 30}, AllowedGIDs: []int{os.Getgid()}}).dial(t).alive()
	serve(t, rpc.Options{AllowedGIDs: []int{1 << 30}}).dial(t).closed()
}

// supplementalGroups of a pod adds such a group.
func TestASupplementaryGroupOfAPeerCounts(t *testing.T) {
	t.Parallel()
	const group = 4242
	b := serve(t, rpc.Options{AllowedGIDs: []int{group}})
	dialled := make(chan error, 1)
	var p *net.UnixConn
	go func() {
		// The groups are set for this thread only; it ends with the goroutine, which stays locked to it.
		runtime.LockOSThread()
		groups := make([]uint32, 100) // more than the first buffer of peerGroups holds
		for i := range groups {
			groups[i] = uint32(group - len(groups) + 1 + i)
		}
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
			dialled <- errno
			return
		}
		var err error
		p, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: b.path, Net: "unix"})
		dialled <- err
	}()
	err := <-dialled
	if errors.Is(err, syscall.EPERM) { // only root may set groups: test with those of the process
		groups, gerr := os.Getgroups()
		require.NoError(t, gerr)
		b = serve(t, rpc.Options{AllowedGIDs: append(groups, os.Getgid())})
		b.dial(t).alive()
		return
	}
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.SetDeadline(time.Now().Add(patience)))
	_, err = p.Write(request(t, 1, "session.ping"))
	require.NoError(t, err)
	_, err = p.Read(make([]byte, 1))
	require.NoError(t, err, "it is turned away")
	b.dial(t).closed()
}

// Another user may replace the socket that was just made by a link: the file behind the link keeps its mode.
func TestNoOtherFileIsGivenAMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	foreign := filepath.Join(t.TempDir(), "foreign")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	path := filepath.Join(dir, "s.sock")
	stop := make(chan struct{})
	var racer sync.WaitGroup
	racer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
				_ = os.Remove(path)
				_ = os.Symlink(foreign, path)
			}
		}
	})
	defer racer.Wait()
	defer close(stop)
	for began, found := time.Now(), 0; found < 3; { // most starts end before the racer replaces the socket
		require.Less(t, time.Since(began), 10*patience, "no start met the other file")
		leases := lease.NewLeases(telemetry.Nop())
		s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o666, UID: -1, GID: -1, Log: slog.New(slog.DiscardHandler)}, rpc.Services{Leases: leases})
		if err == nil {
			_ = s.Shutdown(context.Background()) // the racer may have removed its file
		} else if strings.Contains(err.Error(), "another file is where the socket was just made") {
			found++
		}
		leases.Stop(context.Background())
		require.Equal(t, fs.FileMode(0o600), modeOf(t, foreign))
		_ = os.Remove(path)
	}
}

func TestAFolderInWhichOthersMayReplaceTheSocketIsWarnedAbout(t *testing.T) {
	t.Parallel()
	for mode, warned := range map[fs.FileMode]bool{0o777: true, 0o777 | fs.ModeSticky: false, 0o770: false, 0o755: false} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, mode))
		b := serve(t, rpc.Options{Path: filepath.Join(dir, "s.sock")})
		require.Equal(t, warned, strings.Contains(b.log.String(), "every user may replace the socket"), "%v: %s", mode, b.log)
	}
}

// Any process that may read the folder may lock it, so the lock must not keep a sidecar from starting.
func TestALockOfTheFolderThatStaysDoesNotKeepASidecarFromStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := os.Open(dir)
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, syscall.Flock(int(d.Fd()), syscall.LOCK_EX))
	b := serve(t, rpc.Options{Path: filepath.Join(dir, "s.sock")})
	b.dial(t).alive()
	require.Contains(t, b.log.String(), "the socket's folder is locked by another process")
	require.Contains(t, b.log.String(), "process=\""+itoa(os.Getpid())+" (")
}

func TestOneConnectionTooManyIsClosed(t *testing.T) {
	t.Parallel()
	count := newCounters(t)
	b := serve(t, rpc.Options{Limits: api.Limits{MaxConnections: 2}, Telemetry: count.telemetry})
	first, second := b.dial(t), b.dial(t)
	first.alive()
	second.alive()
	b.dial(t).closed()
	require.EqualValues(t, 1, count.value("coxswain.connections.closed", "too_many"))
	require.Contains(t, b.log.String(), "reason=too_many limit=2")
	require.NoError(t, b.Alive(context.Background()), "a full sidecar is alive")
	first.alive()

	require.NoError(t, second.conn.Close())
	eventually(t, "a place is free", func() bool { return b.Connections() == 1 })
	b.dial(t).alive()
}

func TestAliveSaysWhyNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := listen(t, rpc.Options{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Alive(context.Background()))

	// Put a socket that accepts and never answers in its place.
	require.NoError(t, os.Remove(path))
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
			_, _ = c.Read(make([]byte, 64)) // read the ping, and do not answer it
			cancel()
			<-ctx.Done()
			_, _ = c.Read(make([]byte, 1))
		}
	}()
	require.ErrorContains(t, s.Alive(ctx), "ping")
}

func TestShutdownOfAnIdleServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	leases := lease.NewLeases(telemetry.Nop())
	defer leases.Stop(context.Background())
	s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o660, UID: -1, GID: -1, Log: slog.New(slog.DiscardHandler)}, rpc.Services{Leases: leases})
	require.NoError(t, err)
	require.NoError(t, s.Shutdown(context.Background()))
	require.NoFileExists(t, path)
	require.Error(t, s.Alive(context.Background()))
}

// A shutdown lets running calls end, and accepts no new connections meanwhile.
func TestShutdownLetsCallsEnd(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait", m{"note": "late"}))
	<-g.entered
	done := make(chan error, 1)
	go func() { done <- b.Shutdown(context.Background()) }()
	eventually(t, "no new connections", func() bool {
		c, err := net.Dial("unix", b.path)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	p.alive()
	g.open <- nil
	_, err, result := p.reply()
	require.Nil(t, err)
	require.Equal(t, m{"note": "late"}, result)
	require.NoError(t, p.conn.Close())
	require.NoError(t, <-done)
	require.NoFileExists(t, b.path)
}

// When the time of a shutdown is over, the open connections are closed and their calls cancelled.
func TestShutdownClosesWhatIsLeft(t *testing.T) {
	t.Parallel()
	g := newGate()
	b := serve(t, rpc.Options{}, g.method("gate.wait"))
	p := b.dial(t)
	p.send(request(t, 1, "gate.wait"))
	call := <-g.entered
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Shutdown(ctx) }()
	cancel()
	<-call.Done()
	require.NoError(t, <-done)
	p.closed()
}

// A sidecar does not remove the socket file of another one that has taken over its path.
func TestShutdownRemovesItsOwnFileOnly(t *testing.T) {
	t.Parallel()
	b := serve(t, rpc.Options{})
	require.NoError(t, os.Remove(b.path))
	_, err := listen(t, rpc.Options{Path: b.path})
	require.NoError(t, err)
	require.NoError(t, b.Shutdown(context.Background()))
	require.FileExists(t, b.path)
}
