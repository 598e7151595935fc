package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// outcome has the results of a run of the harness.
type outcome struct {
	peers     *results
	sides     []*results // the new sidecar's, and the base's if there is one
	baseName  string     // empty for none
	figures   []figure
	loads     []load   // those that were asked for, in their order
	about     []string // the machine and the versions
	options   options
	everyLoad bool // all figures were asked for
}

// measure runs the loads of the figures that were asked for, in rounds, so that other work
// on the machine affects all of them equally.
func measure(ctx context.Context, o options) error {
	fs, needed, err := chosen(o.only)
	if err != nil {
		return err
	}
	out := &outcome{peers: newResults(), figures: fs, options: o, about: machine(), everyLoad: len(o.only) == 0}
	for _, l := range loads {
		if needed[l.name] {
			out.loads = append(out.loads, l)
		}
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binaries := []string{o.sidecar}
	if o.base != "" {
		b, err := buildBase(ctx, dir, o.base)
		if err != nil {
			return err
		}
		out.baseName = b.commit
		binaries = append(binaries, b.binary)
	}
	lab, err := newLab(ctx, dir)
	defer lab.close()
	if err != nil {
		return err
	}
	lab.image = o.image
	out.about = append(out.about, versionOf("redis-server", "--version"))
	var sides []*side
	defer func() {
		for _, s := range sides {
			s.close()
		}
	}()
	for i, binary := range binaries {
		name := []string{"new", "base"}[i]
		s, err := newSide(ctx, lab, name, binary)
		sides = append(sides, s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out.sides = append(out.sides, newResults())
		out.about = append(out.about, name+": "+versionOf(binary, "version"))
	}
	for round := range o.rounds {
		if err := out.round(ctx, round, sides); err != nil {
			return errors.Join(err, out.print()) // prints the rounds that were measured before
		}
	}
	return out.report()
}

// round measures each load once, on both sidecars one right after the other.
func (out *outcome) round(ctx context.Context, round int, sides []*side) error {
	for _, l := range out.loads {
		into := out.sides
		if l.peer {
			into = []*results{out.peers}
		}
		for i, r := range into {
			if r.missing[l.name] != "" {
				continue
			}
			// Otherwise the next load would be slower by what the last one left: stored replies
			// alone are up to a million keys.
			if err := sides[i].lab.db.FlushAll(ctx).Err(); err != nil {
				return fmt.Errorf("empty redis: %w", err)
			}
			s, err := l.run(ctx, sides[i], out.options.duration)
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), err)
			}
			if err != nil && i > 0 {
				err = notHere("%v", err) // an old sidecar may lack a feature of the new one
			}
			if err := r.add(l.name, s, err); err != nil {
				return err
			}
			name := l.name
			if i > 0 {
				name = "base: " + name
			}
			if why := r.missing[l.name]; why != "" {
				fmt.Fprintf(os.Stderr, "round %d: %-30s not measured: %s\n", round+1, name, why)
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d: %-30s %8.0f calls/s  p50 %v  cpu %v  redis %v  value %.1f\n",
				round+1, name, s.rate, s.p50, s.cpu, s.redis, s.value)
		}
	}
	return nil
}

// of returns the results of one side together with those of the peers.
func (out *outcome) of(side int) *results {
	all := newResults()
	for _, r := range []*results{out.peers, out.sides[side]} {
		for name, s := range r.samples {
			all.samples[name] = s
		}
		for name, why := range r.missing {
			all.missing[name] = why
		}
	}
	return all
}

// The files that a run of all figures writes to the folder of -o.
const (
	pageFile = "benchmarks.md"
	plotFile = "benchmarks-growth.svg"
)

func (out *outcome) write() error {
	for name, write := range map[string]func() []byte{pageFile: out.page, plotFile: out.plot} {
		//nolint:gosec // pages of the docs, for everyone to read
		if err := os.WriteFile(filepath.Join(out.options.out, name), write(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
