package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// A pod's sidecar: what Go makes of the chart's memory limit of 128 MiB.
const podMemory = "GOMEMLIMIT=115MiB"

// loads are what a sidecar of the footprint's table goes through, in this order.
var loads = []struct {
	name    string
	callers int
	pause   time.Duration // between two calls of a caller
}{
	{"64 callers, paced", 64, 20 * time.Millisecond},
	{"64 callers, at full speed", 64, 0},
}

// footprint measures what a sidecar takes of its node, idle and under load, on a
// real Redis and on the embedded store.
func footprint(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	port, err := freePort()
	if err != nil {
		return err
	}
	redis, err := start(nil, "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--loglevel", "warning")
	if err != nil {
		return err
	}
	defer redis.stop()
	var rows [][]string
	for _, store := range [][2]string{{"Redis", "redis://127.0.0.1:" + port}, {"embedded", "embedded"}} {
		lines, err := footprintOf(ctx, o, filepath.Join(dir, store[0]), store[1])
		if err != nil {
			return fmt.Errorf("%s: %w", store[0], err)
		}
		for _, line := range lines {
			rows = append(rows, append([]string{store[0]}, line...))
		}
	}
	return printTable(os.Stdout, []string{"store", "load", "calls/s", "resident MiB", "at most", "CPU"}, rows)
}

func footprintOf(ctx context.Context, o options, path, url string) ([][]string, error) {
	config, socket := path+".yaml", path+".sock"
	if err := os.WriteFile(config, []byte(configText), 0o600); err != nil {
		return nil, err
	}
	c, err := start([]string{podMemory}, o.sidecar, "serve", "--config", config, "--socket", socket, "--redis", url,
		"--http", "127.0.0.1:0", "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	defer c.stop()
	wait := exec.CommandContext(ctx, o.sidecar, "wait", "--timeout", "60s", "--socket", socket)
	if out, err := wait.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sidecar wait: %w: %s", err, out)
	}
	idle, err := c.footprint(o.duration, func() (float64, error) {
		time.Sleep(o.duration)
		return 0, ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	rows := [][]string{append([]string{"idle"}, idle...)}
	cl, err := client.Dial(ctx, client.Options{Socket: socket, Connections: connections})
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for _, l := range loads {
		row, err := c.footprint(o.duration, func() (float64, error) {
			done, err := closedLoop(l.callers, o.duration, func(key string) error {
				_, err := client.Call(ctx, cl, api.RatelimitAcquire, api.RatelimitParams{Rule: ruleName, Key: key})
				time.Sleep(l.pause)
				return err
			})
			return done.rate(), err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, append([]string{l.name}, row...))
	}
	return rows, nil
}

// footprint is what the process takes while work runs: calls a second, resident
// memory at its end, the most there ever was, and the share of a CPU.
func (c *child) footprint(d time.Duration, work func() (float64, error)) ([]string, error) {
	before, err := c.cpu()
	if err != nil {
		return nil, err
	}
	rate, err := work()
	if err != nil {
		return nil, err
	}
	after, err := c.cpu()
	if err != nil {
		return nil, err
	}
	now, most, err := c.memory()
	return []string{
		fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.1f", now), fmt.Sprintf("%.1f", most),
		fmt.Sprintf("%.0fm", float64((after-before).Milliseconds())/d.Seconds()),
	}, err
}

var resident = regexp.MustCompile(`(?m)^(VmRSS|VmHWM):\s+(\d+) kB$`)

// memory is what is resident, and the most that was, in MiB.
func (c *child) memory() (now, most float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	found := map[string]float64{}
	for _, m := range resident.FindAllStringSubmatch(string(b), -1) {
		kib, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return 0, 0, err
		}
		found[m[1]] = kib / 1024
	}
	if len(found) != 2 {
		return 0, 0, errors.New("/proc says no resident memory")
	}
	return found["VmRSS"], found["VmHWM"], nil
}
