package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// child is a process of this run.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start runs a program until stop; its standard error is this program's.
func start(env []string, name string, args ...string) (*child, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	// It must not outlive this process, however that ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it ends by our signal, which is an error to Wait
		close(c.done)
	}()
	return c, nil
}

func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-c.done:
	case <-time.After(10 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// ticksPerSecond is USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// cpu is the user and system time that the process has used so far.
func (c *child) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The command in parentheses may hold spaces; utime and stime are fields 14 and 15.
	_, after, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has only %d fields", c.cmd.Process.Pid, len(fields))
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// lab is everything that a run measures: processes on loopback, started and
// ended by this program.
type lab struct {
	redis, sidecar, echo *child
	redisAddr            string
	socket, echoSocket   string
	db                   *redis.Client
	// secure is a second sidecar, which reaches the same Redis over TLS.
	secure       *child
	secureSocket string
}

const ruleName = "bench"

const configText = `rules:
  items:
    - name: bench
      algorithm: token_bucket
      limits: [{limit: 1000000, period_ms: 1000}]
`

// newLab starts Redis, a sidecar and the echo in dir. The caller closes what
// it returns, also after an error.
func newLab(ctx context.Context, dir, sidecar string) (*lab, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	l := &lab{socket: in("s.sock"), echoSocket: in("e.sock"), secureSocket: in("t.sock")}
	redisPort, err := freePort()
	if err != nil {
		return l, err
	}
	securePort, err := freePort()
	if err != nil {
		return l, err
	}
	cert, key := in("cert.pem"), in("key.pem")
	if err := writeCertificate(cert, key); err != nil {
		return l, fmt.Errorf("certificate: %w", err)
	}
	l.redisAddr = "127.0.0.1:" + redisPort
	l.redis, err = start(nil, "redis-server", "--bind", "127.0.0.1", "--port", redisPort, "--dir", dir,
		"--save", "", "--appendonly", "no", "--loglevel", "warning",
		"--tls-port", securePort, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	if err != nil {
		return l, err
	}
	l.db = redis.NewClient(&redis.Options{Addr: l.redisAddr, PoolSize: 50, MinIdleConns: 10, MaxRetries: -1})
	if err := until(ctx, func() error { return l.db.Ping(ctx).Err() }); err != nil {
		return l, fmt.Errorf("redis-server: %w", err)
	}
	config := in("bench.yaml")
	if err := os.WriteFile(config, []byte(configText), 0o600); err != nil {
		return l, err
	}
	if l.sidecar, err = serve(ctx, sidecar, config, l.socket, "redis://"+l.redisAddr); err != nil {
		return l, err
	}
	l.secure, err = serve(ctx, sidecar, config, l.secureSocket, "rediss://127.0.0.1:"+securePort, "COXSWAIN_REDIS_TLS_CA_FILE="+cert)
	if err != nil {
		return l, err
	}
	l.echo, err = start(nil, os.Args[0], modeEcho, l.echoSocket)
	if err != nil {
		return l, err
	}
	return l, until(ctx, func() error {
		c, err := net.Dial("unix", l.echoSocket)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// serve starts a sidecar, and returns it even where it never answers.
func serve(ctx context.Context, sidecar, config, socket, url string, env ...string) (*child, error) {
	httpPort, err := freePort()
	if err != nil {
		return nil, err
	}
	c, err := start(env, sidecar, "serve", "--config", config, "--socket", socket,
		"--redis", url, "--http", "127.0.0.1:"+httpPort, "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	wait := exec.CommandContext(ctx, sidecar, "wait", "--timeout", "10s", "--socket", socket)
	if out, err := wait.CombinedOutput(); err != nil {
		return c, fmt.Errorf("sidecar wait: %w: %s", err, out)
	}
	return c, nil
}

func (l *lab) close() {
	if l.db != nil {
		_ = l.db.Close() // nothing is kept in it
	}
	for _, c := range []*child{l.echo, l.secure, l.sidecar, l.redis} {
		if c != nil {
			c.stop()
		}
	}
}

// until repeats try for at most ten seconds.
func until(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not up within 10 s: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
