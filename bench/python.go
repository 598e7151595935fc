package main

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// The kinds of workers that are Python programs.
const (
	kindPython  = "coxswain.py" // acquires through the Python client
	kindRedisPy = "redis-py"    // runs the sidecar's script by redis-py
)

//go:embed worker.py
var pythonWorker string

// python is the interpreter of the operating system, for which Debian packages msgpack and redis.
const python = "/usr/bin/python3"

// byPython is a load of tasks of one event loop, in a process of its own.
func byPython(kind string, tasks int) runner {
	return func(ctx context.Context, s *side, d time.Duration) (sample, error) {
		if out, err := exec.CommandContext(ctx, python, "-c", "import msgpack, redis").CombinedOutput(); err != nil {
			return sample{}, notHere("apt-get install python3-msgpack python3-redis: %s: %v: %s", python, err, out)
		}
		r, err := together([]task{{
			Kind: kind, Addr: s.lab.redisAddr, Socket: s.usual.socket, Script: s.script, Callers: tasks, Duration: d,
		}})
		if err != nil {
			return sample{}, err
		}
		return sample{rate: float64(r.Calls) / r.Took.Seconds(), cpu: r.CPU / time.Duration(max(r.Calls, 1))}, nil
	}
}

// pythonProgram is the command line of a Python worker.
func pythonProgram() (env []string, name string, args []string, err error) {
	client, err := filepath.Abs("../clients/python/src")
	if err != nil {
		return nil, "", nil, fmt.Errorf("the Python client: %w", err)
	}
	return []string{"PYTHONPATH=" + client, "PYTHONDONTWRITEBYTECODE=1"}, python, []string{"-c", pythonWorker}, nil
}
