package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
)

// paces are the loads of the footprint's table, in their order.
var paces = []struct {
	name    string
	callers int
	pause   time.Duration // between two calls of a caller
}{
	{"idle", 0, 0},
	{"64 callers, paced", 64, 20 * time.Millisecond},
	{"64 callers, at full speed", 64, 0},
}

// footprint measures the memory and CPU that a sidecar uses, idle and under load, on a
// real Redis and on the embedded store.
func footprint(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := newLab(ctx, dir)
	defer l.close()
	if err != nil {
		return err
	}
	s, err := newSide(ctx, l, "new", o.sidecar)
	defer s.close()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, store := range [][2]string{{"Redis", ""}, {"embedded", "embedded"}} {
		srv, err := s.serve(ctx, variant{name: store[0], redis: store[1], env: []string{podMemory}})
		if err != nil {
			return err
		}
		lines, err := footprintOf(ctx, srv, o.duration)
		srv.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", store[0], err)
		}
		for _, line := range lines {
			rows = append(rows, append([]string{store[0]}, line...))
		}
	}
	return printTable(os.Stdout, []string{"store", "load", "calls/s", "resident MiB", "at most", "CPU"}, rows)
}

func footprintOf(ctx context.Context, srv *server, d time.Duration) (rows [][]string, err error) {
	cl, err := dialed(ctx, srv.socket, connections)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for _, p := range paces {
		row, err := footprintAt(ctx, srv, cl, p.callers, p.pause, d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, append([]string{p.name}, row...))
	}
	return rows, nil
}

// footprintAt measures the process under a load: calls a second, resident memory at
// its end, the most resident memory so far, and the CPU in thousandths of a core.
func footprintAt(ctx context.Context, srv *server, cl *client.Client, callers int, pause, d time.Duration) ([]string, error) {
	before, err := srv.cpu()
	if err != nil {
		return nil, err
	}
	acquire := clientAcquire(ruleName)(ctx, cl)
	var done tally
	if callers == 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		done.took, err = d, ctx.Err()
	} else {
		done, err = closedLoop(callers, d, shared(keyCount), func(key string) error {
			err := acquire(key)
			time.Sleep(pause)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	after, err := srv.cpu()
	if err != nil {
		return nil, err
	}
	now, err := srv.memory(memoryNow)
	if err != nil {
		return nil, err
	}
	most, err := srv.memory(memoryMost)
	const mebibyte = 1 << 20
	return []string{
		fmt.Sprintf("%.0f", done.rate()), fmt.Sprintf("%.1f", now/mebibyte), fmt.Sprintf("%.1f", most/mebibyte),
		fmt.Sprintf("%.0fm", float64((after-before).Milliseconds())/done.took.Seconds()),
	}, err
}
