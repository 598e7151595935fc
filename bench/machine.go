package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// peers are the modules whose versions the page lists.
var peers = []string{
	"github.com/redis/go-redis/v9", "github.com/go-redis/redis_rate/v10", "github.com/bsm/redislock", "google.golang.org/grpc",
}

// machine describes the machine of the run, without names or paths of the host.
func machine() []string {
	lines := []string{
		fmt.Sprintf("CPU: %s, %d cores", cpuModel(), runtime.NumCPU()),
		"kernel: " + readLine("/proc/sys/kernel/osrelease"),
		"load average at the start: " + readLine("/proc/loadavg"),
		"Go: " + runtime.Version(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(peers, m.Path) {
				lines = append(lines, m.Path+" "+m.Version)
			}
		}
	}
	return lines
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func readLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func versionOf(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return name + ": version unknown"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
