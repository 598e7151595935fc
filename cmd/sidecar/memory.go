package main

import (
	"cmp"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// How garbage is collected. The default, at twice the memory that is live, collects a heap of 12 MB 20 times a second under load, which
// took a seventh of the CPU time of a call. Loading scripts and telemetry leaves 13 MB of garbage; collecting it in the same way took a
// third of the start's CPU time.
const (
	// leastHeap is the size up to which the heap grows before it is collected, however little of it is live.
	leastHeap        = 32 << 20
	defaultGCPercent = 100
	startGCPercent   = 800 // of the 4 MiB with which the runtime begins
	startInterval    = time.Second
)

// paceGarbage puts garbage collection off until the heap has leastHeap, or twice what is live if that is more. After the start it
// collects once and returns the memory to the system, as the runtime itself would within minutes. If the environment sets GOGC, it
// does nothing. The memory limit always holds.
func paceGarbage() (stop func()) {
	if _, set := os.LookupEnv("GOGC"); set {
		return func() {}
	}
	debug.SetGCPercent(startGCPercent)
	var mu sync.Mutex
	stopped := false
	var pace func(struct{})
	pace = func(struct{}) {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		debug.SetGCPercent(percentFor(liveHeap()))
		runtime.AddCleanup(new(collected), pace, struct{}{})
	}
	t := time.AfterFunc(startInterval, func() {
		pace(struct{}{})
		debug.FreeOSMemory()
	})
	return func() {
		t.Stop()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		debug.SetGCPercent(defaultGCPercent)
	}
}

// collected is memory that nothing refers to, so that its cleanup runs after the next collection. It is too large for the
// allocator to put it together with memory that may live on.
type collected [64]byte

// percentFor returns the GOGC at which a heap of which live bytes are live is collected at leastHeap, or at twice live if that is more.
func percentFor(live uint64) int {
	live = max(live, leastHeap/(1+startGCPercent/defaultGCPercent))
	return max(defaultGCPercent, int(defaultGCPercent*leastHeap/live)-defaultGCPercent)
}

// liveHeap returns how many bytes were live at the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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
