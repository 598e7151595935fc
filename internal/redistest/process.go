package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

const binary = "redis-server"

// startShared runs the test binary's own server.
func startShared() (backend, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return backend{}, err
	}
	p, err := startOnFreePort(dir, nil)
	if err != nil {
		return backend{}, errors.Join(err, os.RemoveAll(dir))
	}
	url := "redis://" + p.addr
	return backend{url: url, what: "a " + binary + " process at " + url, stop: func() error {
		p.kill()
		return os.RemoveAll(dir)
	}}, nil
}

// process is one run of redis-server.
type process struct {
	addr string
	os   *os.Process
	done chan struct{} // closed when the process has ended
}

func startOnFreePort(dir string, args []string) (*process, error) {
	return onFreePort(func(addr string) (*process, error) { return launch(addr, dir, args) })
}

// onFreePort picks ports below the range that outgoing connections use, and claims them, so that
// the port of a stopped server is still free when it is restarted. The port behind each belongs to it.
func onFreePort(start func(addr string) (*process, error)) (*process, error) {
	const lowest, pairs, tries = 20000, 6000, 50
	var last error
	for range tries {
		port := lowest + 2*rand.IntN(pairs)
		if err := claim(port); err != nil {
			last = err
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			last = err
			continue
		}
		_ = l.Close()
		p, err := start(addr)
		if err == nil || !errors.Is(err, errPortTaken) {
			return p, err
		}
		last = err
	}
	return nil, fmt.Errorf("%s: no free port in %d tries: %w", binary, tries, last)
}

// claims are the locked files of the ports that this test binary has picked. It keeps them, locked, until it ends: a
// file that is not referenced is closed.
var claims struct {
	sync.Mutex
	files []*os.File
}

// claim makes a port this test binary's. It is an error if the port is another's, or was claimed before.
func claim(port int) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("redistest-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%w: %d is another test's: %w", errPortTaken, port, err), f.Close())
	}
	claims.Lock()
	defer claims.Unlock()
	claims.files = append(claims.files, f)
	return nil
}

var errPortTaken = errors.New("the port is taken")

// launch starts a store, and returns when it accepts connections or has ended.
func launch(addr, dir string, args []string) (*process, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	return spawn(addr, "Ready to accept connections", append([]string{
		"--bind", host, "--port", port, "--dir", dir, "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--enable-debug-command", "local",
	}, args...))
}

// spawn returns when the server logs that it is ready, or has ended.
func spawn(addr, ready string, args []string) (*process, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("no %s on PATH: install it (apt-get install redis-server), or set $%s: %w", binary, EnvURL, err)
	}
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	p := &process{addr: addr, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The death signal is tied to the thread that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.os = cmd.Process
		started <- watch(out, ready)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		if p.os != nil {
			p.kill()
		}
		return nil, fmt.Errorf("%s on %s: %w", binary, addr, err)
	}
	return p, nil
}

// watch reads the log until the server is ready, or ends.
func watch(out io.Reader, ready string) error {
	var log strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, ready) {
			return nil
		}
		if strings.Contains(line, "Address already in use") {
			return errPortTaken
		}
		log.WriteString(line + "\n")
	}
	return fmt.Errorf("it ended at once:\n%s", log.String())
}

// kill ends the process without a chance to save, paused or not.
func (p *process) kill() {
	_ = p.os.Kill()
	<-p.done
}

// Server is a redis-server process of one test: it may be stopped, paused and
// flushed. Its methods are for one goroutine at a time.
type Server struct {
	t    testing.TB
	dir  string
	args []string
	addr string
	run  *process // nil while stopped
}

// Start runs a private server on a free loopback port; it ends with the test.
// Args are appended to the command line ("--maxmemory", "1mb").
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), args: args}
	p, err := startOnFreePort(s.dir, args)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.run, s.addr = p, p.addr
	t.Cleanup(s.Stop)
	return s
}

// URL is the server's redis:// address, the same after a restart.
func (s *Server) URL() string { return "redis://" + s.addr }

// Client returns a plain client of the server, closed with the test.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return client(t, s.URL())
}

// Stop kills the process, which loses all data, and returns when it has ended.
func (s *Server) Stop() {
	if s.run != nil {
		s.run.kill()
		s.run = nil
	}
}

// Restart starts it again on the same port, empty; a running one is stopped first.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	p, err := launch(s.addr, s.dir, s.args)
	if err != nil {
		s.t.Fatalf("redistest: restart: %v", err)
	}
	s.run = p
}

// Pause stops the process (SIGSTOP): connections stay open, and it does not reply.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused server continue. It executes the commands that were sent meanwhile.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.run == nil {
		s.t.Fatalf("redistest: %v: the server is stopped", sig)
	}
	if err := s.run.os.Signal(sig); err != nil {
		s.t.Fatalf("redistest: %v: %v", sig, err)
	}
}
