// Command bench measures the sidecar against Redis itself and against other
// limiters, all in one run on one machine.
//
// Its invariant: every figure is a ratio or a cost per call taken within one
// round, so that a noisy machine disturbs both sides alike.
//
// It starts Redis, a sidecar and an echo server on loopback and ends them.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

type options struct {
	sidecar, out string
	duration     time.Duration
	rounds       int
	footprint    bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case modeEcho:
			return serveEcho(os.Args[2])
		case modeLoop:
			return runLoop(ctx, os.Stdin, os.Stdout)
		}
	}
	var o options
	flag.StringVar(&o.sidecar, "sidecar", "../bin/sidecar", "the binary to measure")
	flag.StringVar(&o.out, "o", "", "write the page there; empty only prints")
	flag.DurationVar(&o.duration, "duration", 3*time.Second, "how long each load runs in each round")
	flag.IntVar(&o.rounds, "rounds", 5, "how many rounds; the medians count")
	flag.BoolVar(&o.footprint, "footprint", false, "measure what a sidecar takes of its node instead, each load for duration")
	flag.Parse()
	if o.rounds < 1 || o.duration <= 0 || flag.NArg() > 0 {
		flag.Usage()
		return errors.New("rounds and duration are at least 1, and there are no arguments")
	}
	if o.footprint {
		return footprint(ctx, o)
	}
	return measure(ctx, o)
}

func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	about := machine()
	l, err := newLab(ctx, dir, o.sidecar)
	defer l.close()
	if err != nil {
		return err
	}
	about = append(about, versionOf("redis-server", "--version"), "sidecar: "+versionOf(o.sidecar, "version"))
	c, err := l.capture()
	if err != nil {
		return err
	}
	clients, err := dialClients(ctx, l.socket)
	if err != nil {
		return err
	}
	defer clients.close()
	secured, err := dialClients(ctx, l.secureSocket)
	if err != nil {
		return err
	}
	defer secured.close()

	r, names := rounds{}, []string{}
	for round := range o.rounds {
		for _, p := range points(l, c, clients, secured) {
			s, err := p.measure(ctx, o.duration)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d: %-20s %8.0f calls/s  p50 %v  cpu %v\n", round+1, p.name, s.rate, s.p50, s.cpu)
			r[p.name] = append(r[p.name], s)
			if round == 0 {
				names = append(names, p.name)
			}
		}
	}
	return report(o, r, names, about)
}

func report(o options, r rounds, names, about []string) error {
	var rows [][]string
	for _, f := range r.figures() {
		rows = append(rows, f.row())
	}
	if err := printTable(os.Stdout, figureHead, rows); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	var b bytes.Buffer
	page(&b, r, names, about, o.duration)
	return os.WriteFile(o.out, b.Bytes(), 0o644) //nolint:gosec // a page of the docs, for everyone to read
}

func versionOf(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return name + ": version unknown"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
