package main_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestAnUnreachableSocketSaysWhy(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(socketIn(t))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())

	for socket, why := range map[string]string{
		filepath.Join(dir, "none"): "there is no such file; start it with sidecar serve, or name its socket with --socket or COXSWAIN_SOCKET",
		filepath.Join(dir, "none", "s"): "there is no folder " + dir + "/none; in a pod, mount the sidecar's volume there; " +
			"else start it with sidecar serve, or name its socket with --socket or COXSWAIN_SOCKET",
		file:                     "it is a regular file, not a socket; name the socket with --socket or COXSWAIN_SOCKET",
		filepath.Join(file, "s"): file + " is a file, and the socket needs a folder; name the socket with --socket or COXSWAIN_SOCKET",
		dir:                      "it is a folder, not a socket; name the socket with --socket or COXSWAIN_SOCKET",
		stale:                    "nobody listens on it: the file was left by a sidecar that died; start one: it takes the file over",
	} {
		for _, command := range [][]string{{"call", "session.ping"}, {"probe", "live"}, {"probe", "ready"}} {
			a := cli(t, append(command, "--socket", socket)...)
			require.Equal(t, main.Unreachable, a.code, a.err)
			require.Equal(t, "cannot reach the sidecar at "+socket+": "+why+"\n", a.err)
			require.Empty(t, a.out)
		}
		a := cli(t, "wait", "--timeout", "30ms", "--socket", socket)
		require.Equal(t, main.Unreachable, a.code, a.err)
		require.Contains(t, a.err, why)
	}
}

func TestTheVariableNamesTheSocketAndTheFlagWins(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	env := []string{"COXSWAIN_SOCKET=" + s.socket}
	require.Equal(t, main.OK, cliWith(t, "", env, "call", "session.ping").code)
	require.Equal(t, main.OK, cliWith(t, "", env, "wait").code)
	a := cliWith(t, "", env, "probe", "live", "--socket", "/none")
	require.Equal(t, main.Unreachable, a.code)
	require.Contains(t, a.err, "/none")
}

func TestARefusedConnectionNamesItsLikelyCauses(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_SOCKET_ALLOWED_UIDS=" + strconv.Itoa(os.Geteuid()+1)}, "--redis", "embedded")
	// Before it accepts, a call fails for another reason; nobody is turned away yet.
	require.Eventually(t, func() bool {
		cli(t, "call", "--socket", s.socket, "session.ping")
		return strings.Contains(s.log.String(), `"reason":"forbidden"`)
	}, limit, time.Millisecond, "the log says which")
	a := cli(t, "call", "--socket", s.socket, "session.ping")
	require.Equal(t, main.Unreachable, a.code)
	require.Regexp(t, `^cannot reach the sidecar at `+s.socket+`: .+
  it listens, and turns this process away or is no sidecar
  this process is uid `+strconv.Itoa(os.Geteuid())+`, gid .+; look at its log, which says which: limits.max_connections, `, a.err)
}

func TestASidecarThatHangsIsNotCalledDead(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", socketIn(t))
	require.NoError(t, err)
	defer l.Close()
	a := cli(t, "probe", "live", "--timeout", "30ms", "--socket", l.Addr().String())
	require.Equal(t, main.Unreachable, a.code)
	require.Equal(t, "cannot reach the sidecar at "+l.Addr().String()+
		": it listens and does not answer in time: it hangs or has no CPU; look at its log and at its CPU limit; restart it\n", a.err)
}

// stranger is how another user without the socket's group sees the sidecar. It
// needs root to become that user; without it the mode of the socket is taken
// away from this one, which the kernel refuses with the same error.
type stranger struct {
	t         *testing.T
	exe       string
	uid       int
	asIs      bool
	whoami    string
	forbidden os.FileMode // what keeps it out of something of ours
}

func newStranger(t *testing.T, dir string) stranger {
	t.Helper()
	if os.Geteuid() != 0 {
		return stranger{t: t, asIs: true, whoami: "uid " + strconv.Itoa(os.Geteuid()), forbidden: 0}
	}
	// The test binary is in a folder that only its owner may enter.
	exe := filepath.Join(dir, "sidecar")
	from, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(exe, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	const uid = 54_321
	return stranger{t: t, exe: exe, uid: uid, whoami: "uid 54321, gid 54321, groups [54321]", forbidden: 0o660}
}

func (s stranger) cli(args ...string) answer {
	s.t.Helper()
	if s.asIs {
		return cli(s.t, args...)
	}
	cmd := exec.CommandContext(s.t.Context(), s.exe, args...)
	cmd.Env = asMain()
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(s.uid), Gid: uint32(s.uid), Groups: []uint32{uint32(s.uid)},
	}}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says it
	require.NotNil(s.t, cmd.ProcessState, "the stranger did not start")
	return answer{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestAClientOutsideTheGroupGetsTheReason(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded")
	wait(t, s.socket)
	dir := filepath.Dir(s.socket)
	require.NoError(t, os.Chmod(dir, 0o755))
	x := newStranger(t, dir)
	require.NoError(t, os.Chmod(s.socket, x.forbidden))
	mode, owner := "0660", strconv.Itoa(os.Geteuid())
	if x.asIs {
		mode = "0000"
	}
	group := strconv.Itoa(os.Getegid())

	for _, command := range [][]string{{"call", "session.ping"}, {"probe", "ready"}, {"wait"}} {
		a := x.cli(append(command, "--socket", s.socket)...)
		require.Equal(t, main.Unreachable, a.code, a.err)
		require.Contains(t, a.err, "cannot reach the sidecar at "+s.socket+": permission denied\n"+
			"  the socket is mode "+mode+" of uid "+owner+", gid "+group+"\n"+
			"  this process is "+x.whoami)
		require.Contains(t, a.err, "\n  connecting needs write permission; run as uid "+owner+" or with group "+group+
			" (in a pod: securityContext.supplementalGroups: ["+group+"]), or set socket.gid or socket.mode of the sidecar\n")
	}
	require.NoError(t, os.Chmod(s.socket, 0o666))
	require.Equal(t, main.OK, x.cli("call", "session.ping", "--socket", s.socket).code)

	// The same for a folder on the way that is closed to it.
	closed := os.FileMode(0o700)
	if x.asIs {
		closed = 0
	}
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o755))
	require.NoError(t, os.Chmod(inner, closed))
	a := x.cli("probe", "live", "--socket", filepath.Join(inner, "s"))
	require.Equal(t, main.Unreachable, a.code, a.err)
	require.Contains(t, a.err, ": permission denied\n  the folder "+inner+" is mode 0")
	require.Contains(t, a.err, "passing through it needs execute permission on it; run as uid "+owner)
}
