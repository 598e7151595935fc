package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// side is one sidecar binary under test: the new one, or the base that it is compared with.
type side struct {
	name, binary string
	lab          *lab
	config       string  // the path of its configuration
	leased       bool    // it accepts rules in mode leased
	usual        *server // the sidecar of the loads that start none of their own
	script       evalsha // the EVALSHA that usual sends for an acquire
}

// variant is a way to run a sidecar.
type variant struct {
	name  string
	redis string // its address, empty for the lab's
	// elsewhere: its Redis is not that of the lab, and its CPU is not measured.
	elsewhere bool
	env       []string
	args      []string
}

const rulesText = `limits:
  max_connections: 1024
rules:
  items:
    - name: bench
      algorithm: token_bucket
      limits: [{limit: 1000000, period_ms: 1000}]
`

const leasedText = `    - name: leased
      mode: leased
      algorithm: token_bucket
      limits: [{limit: 1000000, period_ms: 1000}]
`

// podMemory sets the Go memory limit that a sidecar sets itself in a pod with 128 MiB.
const podMemory = "GOMEMLIMIT=115MiB"

// newSide starts the usual sidecar of a binary. The caller closes the side that it returns, also
// after an error.
func newSide(ctx context.Context, l *lab, name, binary string) (*side, error) {
	s := &side{name: name, binary: binary, lab: l, config: filepath.Join(l.dir, name+".yaml")}
	var err error
	if s.leased, err = s.configure(ctx); err != nil {
		return s, err
	}
	if s.usual, err = s.serve(ctx, variant{name: "usual"}); err != nil {
		return s, err
	}
	s.script, err = s.capture()
	return s, err
}

// configure writes the configuration, without the rule in mode leased if the sidecar refuses
// that as invalid, as an old one does.
func (s *side) configure(ctx context.Context) (leased bool, err error) {
	for _, text := range []string{rulesText + leasedText, rulesText} {
		leased = strings.Contains(text, leasedText)
		if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
			return false, err
		}
		if err = runToEnd(ctx, s.binary, "config", "check", s.config); err == nil {
			return leased, nil
		}
	}
	return false, err
}

func (s *side) close() {
	if s.usual != nil {
		s.usual.stop()
	}
}

// spawn starts a sidecar and does not wait for it.
func (s *side) spawn(v variant) (*server, error) {
	srv := &server{elsewhere: v.elsewhere, socket: filepath.Join(s.lab.dir, s.name+"-"+v.name+".sock")}
	redis := v.redis
	if redis == "" {
		redis = "redis://" + s.lab.redisAddr
	}
	args := append([]string{
		"serve", "--config", s.config, "--socket", srv.socket, "--redis", redis,
		"--http", "127.0.0.1:0", "--log-level", "error",
	}, v.args...)
	if s.lab.profiler != nil {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		srv.debug = "127.0.0.1:" + port
		args = append(args, "--debug-addr", srv.debug)
	}
	// Each side has a prefix of its own, since two versions may keep state differently.
	c, err := start(append([]string{"COXSWAIN_REDIS_PREFIX=" + s.name}, v.env...), s.binary, args...)
	srv.child = c
	return srv, err
}

// serve starts a sidecar and waits until it is ready.
func (s *side) serve(ctx context.Context, v variant) (*server, error) {
	srv, err := s.spawn(v)
	if err != nil {
		return nil, err
	}
	if err := runToEnd(ctx, s.binary, "wait", "--timeout", "30s", "--socket", srv.socket); err != nil {
		srv.stop()
		return nil, fmt.Errorf("%s: %w", v.name, err)
	}
	return srv, nil
}

// beside runs a sidecar for one load alone, since an idle sidecar would disturb the
// other loads.
func (s *side) beside(ctx context.Context, v variant, run func(*server) (sample, error)) (sample, error) {
	srv, err := s.serve(ctx, v)
	if err != nil {
		return sample{}, err
	}
	defer srv.stop()
	return run(srv)
}

// raw is a load without the Go client.
func (s *side) raw(ctx context.Context, on *server, callers, connections int, d time.Duration, keys keySpace, steps exchange) (sample, error) {
	return s.lab.metered(ctx, on, func() (tally, error) { return rawLoad(on.socket, callers, connections, d, keys, steps) })
}

// started is the workload of 64 callers on a sidecar that has just started; it is warmed up
// first.
func (s *side) started(ctx context.Context, on *server, d time.Duration) (sample, error) {
	keys, steps := shared(keyCount), rawAcquire(ruleName)
	if _, err := rawLoad(on.socket, 64, connections, d/10, keys, steps); err != nil {
		return sample{}, err
	}
	return s.raw(ctx, on, 64, connections, d, keys, steps)
}

// client is a load through package client.
func (s *side) client(ctx context.Context, on *server, callers int, d time.Duration, keys keySpace, call clientCall) (sample, error) {
	c, err := dialed(ctx, on.socket, callers)
	if err != nil {
		return sample{}, err
	}
	defer c.Close()
	do := call(ctx, c)
	return s.lab.metered(ctx, on, func() (tally, error) { return closedLoop(callers, d, keys, do) })
}
