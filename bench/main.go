// Command bench measures the sidecar against Redis itself, against other
// limiters and against the sidecar of another commit, all in one run on one machine.
//
// Its invariant: every figure is a ratio or a cost per call taken within one
// round, so that other work on the machine affects both sides equally.
//
// It starts Redis, sidecars and an echo server on loopback and ends them. loads.go lists
// the measurements, figures.go the figures that are computed from them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Modes of this program when it runs as a child of itself, so that the CPU time of
// each is that of a process.
const (
	modeEcho = "echo"
	modeWork = "work"
)

// usualDuration is the default of -duration.
const usualDuration = 3 * time.Second

type options struct {
	sidecar  string // the binary to measure
	base     string // the commit to measure beside it, empty for none
	only     []string
	out      string // the folder of the page, empty for none
	image    string
	duration time.Duration
	rounds   int
	profiles string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case modeEcho:
			return serveEcho(os.Args[2])
		case modeWork:
			return work(context.Background(), os.Stdin, os.Stdout)
		}
	}
	// Not in a child, which a signal should end at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.sidecar, "sidecar", "../bin/sidecar", "the binary to measure")
	flag.StringVar(&o.base, "base", "", "measure the sidecar of this commit too, in the same rounds")
	only := flag.String("only", "", "measure only these figures, such as P4,P7; then no page is written")
	flag.StringVar(&o.out, "o", "", "write the page and its plot to this folder; empty = only print")
	flag.StringVar(&o.image, "image", "", "the image in a Docker engine whose size P10 measures")
	flag.DurationVar(&o.duration, "duration", usualDuration, "how long each load runs in each round")
	flag.IntVar(&o.rounds, "rounds", 5, "how many rounds; the figures are their medians")
	foot := flag.Bool("footprint", false, "measure instead the memory and CPU that a sidecar uses, each load for duration")
	list := flag.Bool("loads", false, "list the loads")
	profile := flag.String("profile", "", "run this load once and take profiles of the sidecar and of Redis")
	flag.StringVar(&o.profiles, "profiles", "profile", "the folder of the profiles")
	flag.Parse()
	if o.rounds < 1 || o.duration <= 0 || flag.NArg() > 0 {
		flag.Usage()
		return errors.New("rounds must be at least 1 and duration above 0, and there must be no arguments")
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	switch {
	case *list:
		for _, l := range loads {
			fmt.Println(l.name)
		}
		return nil
	case *foot:
		return footprint(ctx, o)
	case *profile != "":
		return profileLoad(ctx, o, *profile)
	default:
		return measure(ctx, o)
	}
}
