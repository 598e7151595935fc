package main

import (
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
)

// setProcs sets how many threads run Go code at once (GOMAXPROCS) by the setting runtime.procs. If it
// is a number, that stays. With auto the process begins with most threads, since it does several
// things at once during its start; after the first interval it has one, and from then on autoProcs
// follows the load, until stop is called. GOMAXPROCS in the environment takes precedence over auto.
func setProcs(log *slog.Logger, setting string, most int) (stop func()) {
	if n, err := strconv.Atoi(setting); err == nil {
		runtime.GOMAXPROCS(n)
		return func() {}
	}
	if _, set := os.LookupEnv("GOMAXPROCS"); set {
		return func() {}
	}
	runtime.GOMAXPROCS(most)
	if most < 2 {
		return func() {}
	}
	var watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() {
		tick := time.NewTicker(procsInterval)
		defer tick.Stop()
		wait := func() (more bool) {
			select {
			case <-tick.C:
				return true
			case <-done:
				return false
			}
		}
		set := func(n int) {
			runtime.GOMAXPROCS(n)
			log.Debug("GOMAXPROCS changed", "procs", n, "most", most)
		}
		if !wait() {
			return
		}
		set(1)
		p := autoProcs{most: most, procs: 1}
		used, at := processorTime(), time.Now()
		for wait() {
			before, then := used, at
			used, at = processorTime(), time.Now()
			if n, changed := p.next(float64(used-before) / float64(at.Sub(then))); changed {
				set(n)
			}
		}
	})
	return func() {
		close(done)
		watch.Wait()
	}
}

// How autoProcs follows the load.
const (
	procsInterval = time.Second
	procsBusy     = 0.9 // share of the present threads: above it, one more is needed
	procsSpare    = 0.6 // share of one thread less: below it, one less is enough
	procsBusyFor  = 2   // intervals until a thread is added
	procsSpareFor = 30  // intervals until a thread is removed: long, since a change stops all calls for a moment
)

// autoProcs decides how many threads run Go code at once. A single thread never wakes another one, so
// that a lone call is faster and each call takes less CPU. More threads are needed only while that one
// is busy nearly all the time.
type autoProcs struct {
	most, procs int
	busy, spare int // intervals in a row
}

// next takes the number of processors that the process used over the last interval. It returns the new
// number of threads, and whether it changed.
func (p *autoProcs) next(used float64) (procs int, changed bool) {
	p.busy, p.spare = p.busy+1, p.spare+1
	if used < procsBusy*float64(p.procs) || p.procs == p.most {
		p.busy = 0
	}
	if used > procsSpare*float64(p.procs-1) || p.procs == 1 {
		p.spare = 0
	}
	switch {
	case p.busy == procsBusyFor:
		p.procs++
	case p.spare == procsSpareFor:
		p.procs--
	default:
		return p.procs, false
	}
	p.busy, p.spare = 0, 0
	return p.procs, true
}

// processorTime returns the CPU time that this process has used, in user mode and in the kernel.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for RUSAGE_SELF
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wholeProcessors returns how many processors the process can use: those of the machine or of its CPU
// set, or fewer if its cgroup limits its CPU time, rounded down and at least 1. With one thread more it
// would be throttled.
func wholeProcessors(group cgroup.Group) int {
	n := runtime.NumCPU()
	if limit := group.CPU(); limit < float64(n) {
		n = max(1, int(limit))
	}
	return n
}
