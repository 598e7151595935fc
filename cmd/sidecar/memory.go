package main

import (
	"log/slog"
	"math"
	"os"
	"runtime"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is the part of a container's memory limit that is the Go runtime's:
// the rest is for what it does not count, such as the binary's own pages.
const memoryShare = 0.9

// limitMemory makes the Go runtime collect before the kernel kills, where found has
// a limit, and tells what it keeps to. GOMEMLIMIT in the environment stands over it.
// The number of threads that run Go code follows a CPU limit by the runtime itself.
func limitMemory(log *slog.Logger, found memlimit.Provider) {
	from := "cgroup"
	if _, said := os.LookupEnv("GOMEMLIMIT"); said {
		from = "GOMEMLIMIT"
	}
	bytes, err := memlimit.Set(memlimit.WithRatio(memoryShare), memlimit.WithProvider(found))
	attrs := []any{"procs", runtime.GOMAXPROCS(0)}
	switch {
	case err != nil: // such as an operating system without cgroups
		attrs = append(attrs, "memory_limit_from", "nothing", "reason", err.Error())
	case bytes == math.MaxInt64:
		attrs = append(attrs, "memory_limit_from", "nothing")
	default:
		attrs = append(attrs, "memory_limit_from", from, "memory_limit_bytes", bytes)
	}
	log.Info("the Go runtime keeps to", attrs...)
}
