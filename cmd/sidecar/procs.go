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

// setProcs sets how many threads run Go code at once (GOMAXPROCS), as runtime.procs says. A
// number stays; auto begins with most, since a start does several things side by side, has one
// after the first interval and follows the load from there, see autoProcs, until stop is
// called. GOMAXPROCS in the environment stands over auto.
func setProcs(log *slog.Logger, setting string, most int) (stop func()) {
	if n, err := strconv.Atoi(setting); err == nil {
		runtime.GOMAXPROCS(n)
		return func() {}
	}
	if _, said := os.LookupEnv("GOMAXPROCS"); said {
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
			log.Debug("the Go runtime has other procs", "procs", n, "most", most)
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
	procsBusy     = 0.9 // of the threads there are: one more is needed
	procsSpare    = 0.6 // of one thread less: it would do
	procsBusyFor  = 2   // intervals until there is one more
	procsSpareFor = 30  // intervals until there is one less: a change stops all calls for a moment
)

// autoProcs decides how many threads run Go code at once. One has no other to wake: with it a
// lone call is faster and each call takes less CPU. More are needed only while one is busy
// nearly all the time.
type autoProcs struct {
	most, procs int
	busy, spare int // intervals in a row
}

// next is told how many processors the process used over the last interval. It returns how many
// threads there are to be, and whether that is a change.
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

// processorTime is what this process has used, in user mode and in the kernel.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails only for what is no process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wholeProcessors is how many processors the process has for itself: those of the machine or of
// its CPU set, or fewer where its group limits its time, rounded down and at least 1.
// A thread more than that would be throttled.
func wholeProcessors(group cgroup.Group) int {
	n := runtime.NumCPU()
	if limit := group.CPU(); limit < float64(n) {
		n = max(1, int(limit))
	}
	return n
}
