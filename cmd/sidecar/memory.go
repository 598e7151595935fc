package main

import (
	"cmp"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// memoryShare is the part of a container's memory limit that the Go runtime may use. The rest is for
// memory that the runtime does not count, such as the pages of the binary.
const memoryShare = 0.9

// limitMemory sets the memory limit of the Go runtime by the limit that found returns, so that the
// runtime collects garbage before the kernel kills the process, and logs it. GOMEMLIMIT in the
// environment takes precedence.
func limitMemory(log *slog.Logger, found memlimit.Provider) {
	from := "cgroup"
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		from = "GOMEMLIMIT"
	}
	bytes, err := memlimit.Set(memlimit.WithRatio(memoryShare), memlimit.WithProvider(found))
	attrs := []any{"procs", runtime.GOMAXPROCS(0)}
	switch {
	case err != nil: // for example since the operating system has no cgroups
		attrs = append(attrs, "memory_limit_from", "nothing", "reason", err.Error())
	case bytes == math.MaxInt64:
		attrs = append(attrs, "memory_limit_from", "nothing")
	default:
		attrs = append(attrs, "memory_limit_from", from, "memory_limit_bytes", bytes)
	}
	log.Info("the Go runtime keeps to", attrs...)
}

// How garbage is collected during the start. Loading scripts and telemetry leaves 13 MB of garbage; collecting it with the default
// settings took a third of the start's CPU time.
const (
	startGCPercent = 800 // the heap is collected at 32 MiB for the first time, in place of 4
	startInterval  = time.Second
)

// collectAfterStart puts garbage collection off while the process starts. Then it collects once and returns the memory to the
// system, as the runtime itself would within minutes. If the environment sets GOGC, it does nothing. The memory limit always holds.
func collectAfterStart() (stop func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	before := debug.SetGCPercent(startGCPercent)
	end := sync.OnceFunc(func() { debug.SetGCPercent(before) })
	t := time.AfterFunc(startInterval, func() {
		end()
		debug.FreeOSMemory()
	})
	return func() {
		t.Stop()
		end()
	}
}

// How the memory limit is divided: a fifth for the bytes that connections hold, a fifth for calls that
// wait. The rest is for the stacks of running calls, for Redis connections, the binary, and garbage.
const (
	budgetShare = 5
	// waiterBytes is the assumed memory of a call that waits; a test in internal/rpc measures it for
	// each noun.
	waiterBytes = 5 << 10
	// The bounds if there is no memory limit.
	unlimitedBytes   = 256 << 20
	unlimitedWaiting = 65_536
)

// wireLimits returns the limits in force in a process with this memory limit.
func wireLimits(l config.Limits, memory int64) api.Limits {
	bytes, waiting := int64(unlimitedBytes), int64(unlimitedWaiting)
	if memory < math.MaxInt64 {
		bytes, waiting = memory/budgetShare, max(1, memory/budgetShare/waiterBytes)
	}
	return api.Limits{
		MaxFrameBytes: l.MaxFrameBytes, MaxDepth: l.MaxDepth, MaxElements: l.MaxElements,
		MaxInflight: l.MaxInflight, MaxWaiting: l.MaxWaiting, MaxConnections: l.MaxConnections,
		MaxTotalBytes:   cmp.Or(l.MaxTotalBytes, max(bytes, config.TotalBytesFor(l.MaxFrameBytes))),
		MaxTotalWaiting: cmp.Or(l.MaxTotalWaiting, waiting),
	}
}
