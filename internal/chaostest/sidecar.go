package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// patience bounds how long the run waits for something that must happen. It only affects how long a broken run takes to
// fail.
const patience = 30 * time.Second

// Build compiles the sidecar into dir and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	return build(ctx, dir, "sidecar", "cmd/sidecar")
}

// build compiles a program of this module.
func build(ctx context.Context, dir, name, of string) (string, error) {
	path := filepath.Join(dir, name)
	//nolint:gosec // the test made the path
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/coxswain-sidecar/coxswain/"+of)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// Sidecar is a process that may be killed and started again, on the same socket.
type Sidecar struct {
	name, path, dir, url string
	config               string // the path of its configuration, if it has one
	env                  []string

	mu  sync.Mutex // guards what follows
	run *process   // nil while it is down
}

// process is one run of a program.
type process struct {
	os   *os.Process
	done chan struct{} // closed when it has ended
}

// start runs a command, which ends with the test binary at the latest.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	p := &process{done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The child gets its death signal when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		p.os = cmd.Process
		started <- err
		if err == nil {
			_ = cmd.Wait() // the error of a killed process is expected
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends the process as kill -9 does, and waits for its end.
func (p *process) kill() {
	_ = p.os.Kill() // it may have ended already
	<-p.done
}

// NewSidecar returns a sidecar that is not started yet. path is its program, url the address of its Redis, dir the
// folder of its socket and its log, and config the path of its configuration; empty = it has none.
func NewSidecar(name, path, dir, url, config string) *Sidecar {
	return &Sidecar{name: name, path: path, dir: dir, url: url, config: config}
}

// Socket returns the path of the sidecar's socket.
func (s *Sidecar) Socket() string { return filepath.Join(s.dir, s.name+".sock") }

// Log returns the path of the sidecar's log.
func (s *Sidecar) Log() string { return filepath.Join(s.dir, s.name+".log") }

// Start starts the sidecar, unless it runs. It returns before the socket is there.
func (s *Sidecar) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return nil
	}
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := []string{"serve"}
	if s.config != "" {
		args = append(args, "--config", s.config)
	}
	cmd := exec.Command(s.path, args...) //nolint:gosec // Build made the program
	cmd.Stderr = log
	cmd.Env = append([]string{
		"COXSWAIN_SOCKET=" + s.Socket(), "COXSWAIN_HTTP_ADDR=127.0.0.1:0", "COXSWAIN_REDIS_URL=" + s.url,
		// With these timeouts a lost reply is noticed while the fault lasts, and a call has the time for several tries.
		"COXSWAIN_REDIS_POOL_COMMAND_TIMEOUT=1s", "COXSWAIN_REDIS_POOL_DIAL_TIMEOUT=1s",
		"COXSWAIN_STREAMS_CONSUMER=" + s.name, // as if each sidecar were in a pod of its own
	}, s.env...)
	p, err := start(cmd)
	_ = log.Close() // the child has its own
	if err != nil {
		return fmt.Errorf("%s: start: %w", s.name, err)
	}
	s.run = p
	return nil
}

// Kill ends the sidecar as kill -9 does.
func (s *Sidecar) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return
	}
	s.run.kill()
	s.run = nil
}

// Ended reports whether the process ended although nobody killed it.
func (s *Sidecar) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return false
	}
	select {
	case <-s.run.done:
		return true
	default:
		return false
	}
}

// Ready waits until the sidecar answers that it is ready, on a new connection.
func (s *Sidecar) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{Socket: s.Socket(), Client: "chaos", Instance: "health"})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	defer func() { _ = c.Close() }()
	for {
		h, err := client.Call(ctx, c, api.HealthGet, api.Nothing{})
		if err == nil && h.Ready {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: never ready: %+v", s.name, h.Checks), err)
		}
	}
}

// SidecarFaults kill one of these sidecars, and start it again.
func SidecarFaults(sidecars []*Sidecar) []Fault {
	return []Fault{{
		Name: "kill sidecar", Targets: len(sidecars), Longest: 1500 * time.Millisecond, Every: 5 * time.Second,
		Begin: func(e Event) (func() error, error) {
			sidecars[e.Target].Kill()
			return sidecars[e.Target].Start, nil
		},
	}}
}
