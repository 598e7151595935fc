package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// profiler takes CPU profiles while a load is metered. A nil profiler takes none.
type profiler struct {
	dir   string
	taken time.Duration // the length of each profile, and of the load
	files []string      // the profiles of sidecars
	redis string        // the file that perf wrote, empty without perf
}

// profileLoad runs one load and keeps the profiles of the sidecar and of Redis in a folder
// below dir.
func profileLoad(ctx context.Context, o options, name string) error {
	if o.duration < time.Second {
		return fmt.Errorf("a profile takes at least 1 s, not %v", o.duration)
	}
	l, err := named(name)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Join(o.profiles, strings.NewReplacer(" ", "-", ",", "").Replace(name)))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for everyone to read
		return err
	}
	temp, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	lab, err := newLab(ctx, temp)
	defer lab.close()
	if err != nil {
		return err
	}
	lab.profiler = &profiler{dir: dir, taken: o.duration.Truncate(time.Second)}
	s, err := newSide(ctx, lab, "new", o.sidecar)
	defer s.close()
	if err != nil {
		return err
	}
	got, err := l.run(ctx, s, o.duration)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := printTable(os.Stdout, loadHead, [][]string{loadRow(name, []sample{got})}); err != nil {
		return err
	}
	return lab.profiler.report(ctx, os.Stdout)
}

// begin starts to take profiles of Redis and of the server, which may be nil or serve none;
// end waits for them.
func (p *profiler) begin(ctx context.Context, l *lab, under *server) (end func() error, err error) {
	if p == nil {
		return func() error { return nil }, nil
	}
	fetched := make(chan error, 1)
	if under == nil || under.debug == "" {
		fetched <- nil
	} else {
		file := filepath.Join(p.dir, fmt.Sprintf("sidecar-%d.pprof", len(p.files)))
		p.files = append(p.files, file)
		go func() { fetched <- p.fetch(ctx, under.debug, file) }()
	}
	var perf *child
	if under == nil || !under.elsewhere {
		perf, err = p.perf(l.redis)
	}
	return func() error {
		if perf != nil {
			_ = perf.cmd.Process.Signal(os.Interrupt) // perf then writes its file
			<-perf.done
		}
		return <-fetched
	}, err
}

func (p *profiler) fetch(ctx context.Context, addr, file string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, int(p.taken.Seconds()))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody) //nolint:gosec // the sidecar that this program started
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("profile of the sidecar: %w", err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, b)
	}
	if err != nil {
		return fmt.Errorf("profile of the sidecar: %w", err)
	}
	return os.WriteFile(file, b, 0o644) //nolint:gosec // for everyone to read
}

// perf records Redis, if perf is installed.
func (p *profiler) perf(redis *child) (*child, error) {
	if _, err := exec.LookPath("perf"); err != nil {
		return nil, nil //nolint:nilerr,nilnil // the report mentions it
	}
	p.redis = filepath.Join(p.dir, "redis-perf.data")
	return start(nil, "perf", "record", "--quiet", "-F", "999", "-p", strconv.Itoa(redis.cmd.Process.Pid), "-o", p.redis)
}

// topFunctions is how many functions of a profile are shown.
const topFunctions = 25

// report prints where the profiles are, and the functions that used most CPU.
func (p *profiler) report(ctx context.Context, to io.Writer) error {
	fmt.Fprintf(to, "\nprofiles: %s\n", p.dir)
	if len(p.files) == 0 {
		fmt.Fprintln(to, "\nthis load has no single sidecar whose CPU is measured")
	}
	var errs []error
	for _, file := range p.files {
		out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount", strconv.Itoa(topFunctions), file).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("go tool pprof: %w", err)
		}
		errs = append(errs, err)
		fmt.Fprintf(to, "\n%s\n%s", filepath.Base(file), out)
	}
	if p.redis == "" {
		fmt.Fprintln(to, "\nRedis was not profiled: perf is not installed (linux-perf of Debian), or the load has a Redis of its own")
		return errors.Join(errs...)
	}
	out, err := exec.CommandContext(ctx, "perf", "report", "--stdio", "--sort", "symbol", "-i", p.redis).Output()
	if err != nil {
		errs = append(errs, fmt.Errorf("perf report: %w", err))
	}
	fmt.Fprintf(to, "\n%s\n", filepath.Base(p.redis))
	shown := 0
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") || shown == topFunctions {
			continue
		}
		fmt.Fprintln(to, strings.TrimRight(line, " -\n")) // some versions add columns that are empty
		shown++
	}
	return errors.Join(errs...)
}
