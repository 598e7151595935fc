// Package chaostest injects faults into the Redis, the network and the processes of real
// sidecars, by a schedule drawn from a seed, and checks the answers that their clients got
// meanwhile. It is for tests only.
//
// Its invariants: a seed always gives the same schedule; a checker uses only the
// history that clients recorded and the faults that were injected; everything that a
// run starts has ended when the run ends.
//
// It does not depend on the kind of Redis: a Topology has its addresses and the
// faults that can be injected. A new primitive gets a role in work.go, its calls in
// History, and a checker; a new fault is a Fault.
package chaostest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The environment variables of a run.
const (
	EnvSeed     = "CHAOS_SEED"
	EnvDuration = "CHAOS_DURATION"
	EnvTopology = "CHAOS_TOPOLOGY"
	EnvMessages = "CHAOS_MESSAGES"
)

// Options are the settings of one run.
type Options struct {
	Seed     uint64
	Duration time.Duration // of the faults; healing comes after it
	Topology string
	// Messages are how many a run of streams publishes.
	Messages int
}

// FromEnv reads the options from the environment. A missing topology is an error. The defaults are seed 1, 20 s and
// 10,000 messages.
func FromEnv(env func(string) string) (Options, error) {
	o := Options{Seed: 1, Duration: 20 * time.Second, Topology: env(EnvTopology), Messages: 10_000}
	if o.Topology == "" {
		return o, fmt.Errorf("$%s names no topology: use make chaos TOPOLOGY=standalone", EnvTopology)
	}
	var err error
	if s := env(EnvSeed); s != "" {
		if o.Seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			return o, fmt.Errorf("$%s is %q: use a number", EnvSeed, s)
		}
	}
	if s := env(EnvDuration); s != "" {
		if o.Duration, err = time.ParseDuration(s); err != nil || o.Duration < time.Second {
			return o, fmt.Errorf("$%s is %q: use a duration of at least 1s, such as 20s", EnvDuration, s)
		}
	}
	if s := env(EnvMessages); s != "" {
		if o.Messages, err = strconv.Atoi(s); err != nil || o.Messages < leastMessages {
			return o, fmt.Errorf("$%s is %q: use a number of at least %d", EnvMessages, s, leastMessages)
		}
	}
	return o, nil
}

// Secure reports whether the sidecars reach Redis over TLS. It is drawn from the
// seed, separately for each topology.
func (o Options) Secure() bool {
	name := fnv.New64a()
	_, _ = name.Write([]byte(o.Topology)) // it never fails
	return rand.New(rand.NewPCG(o.Seed, name.Sum64())).IntN(2) == 0
}

// Topology is a Redis of some kind.
type Topology struct {
	// URLs are the addresses at which the sidecars reach it, one for each sidecar.
	URLs []string
	// Env are further settings that the sidecars need, such as files of TLS.
	Env []string
	// Faults can be injected into it and into the network paths to it.
	Faults []Fault
	// Loses names the faults that may lose the latest writes. After one, a lock may have two holders, and a limit may
	// admit again what it no longer counts.
	Loses []string
	// Switches returns when each failover was over, if there may be more failovers than those faults cause; otherwise
	// it is nil.
	Switches func() []time.Time
	// Overlap is the time for which two masters may answer at each failover.
	Overlap time.Duration
	// Entries returns the messages of a stream as they are stored in Redis, the oldest first. It reads Redis directly,
	// without a sidecar.
	Entries func(ctx context.Context, stream string) ([]string, error)
}

// run is one run under way.
type run struct {
	Options
	t        testing.TB
	top      Topology
	dir      string
	history  *History
	stalls   Stalls
	sidecars []*Sidecar
	workers  []*worker
	over     chan struct{} // closed when workers must begin nothing more

	mu     sync.Mutex // guards what follows
	log    []string   // the faults as they came
	counts map[string]int
	// whole is the time until which no fault can have lost a write; settledAt is the end of the last fault that may
	// have lost one.
	whole, settledAt time.Duration
	harm             []Span // when faults were under way
}

// Run injects faults for o.Duration, waits until all sidecars have recovered, and fails the test for every rule that
// the history breaks.
func Run(t testing.TB, o Options, top Topology) {
	t.Helper()
	r := &run{
		Options: o, t: t, top: top, dir: t.TempDir(),
		over: make(chan struct{}), counts: make(map[string]int), whole: Never,
	}
	faults := r.prepare()
	events := Schedule(o.Seed, o.Duration, faults)
	t.Logf("chaos: seed %d, topology %s, TLS %t, %v, %d sidecars, %d clients, %d faults",
		o.Seed, o.Topology, o.Secure(), o.Duration, len(r.sidecars), len(r.workers), len(events))
	found := r.play(events, faults)
	r.say()
	if len(found) > 0 {
		r.report(events, found)
	}
}

// prepare starts the sidecars and makes the workers. It returns the faults of the topology, the sidecars and the
// workers.
func (r *run) prepare() []Fault {
	r.begin()
	if err := beforeWork(r.t.Context(), r.sidecars[0]); err != nil {
		r.t.Fatal(err)
	}
	r.history = NewHistory()
	clients := len((&worker{}).roles())
	for i := range clients * len(r.sidecars) {
		r.workers = append(r.workers, &worker{
			id: i, history: r.history, socket: r.sidecars[i%len(r.sidecars)].Socket(),
			rnd: rand.New(rand.NewPCG(r.Seed, uint64(i)+1)), over: r.over,
		})
	}
	return slices.Concat(r.top.Faults, SidecarFaults(r.sidecars), workerFaults(r.workers))
}

// begin starts the sidecars.
func (r *run) begin() {
	path, err := Build(r.t.Context(), r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.dir, "sidecar.yaml")
	if err := os.WriteFile(file, []byte(config()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	for i, url := range r.top.URLs {
		s := NewSidecar(fmt.Sprintf("sidecar%d", i), path, r.dir, url, file)
		s.env = r.top.Env
		r.sidecars = append(r.sidecars, s)
		r.t.Cleanup(s.Kill)
		if err := s.Start(); err != nil {
			r.t.Fatal(err)
		}
		if err := s.Ready(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// play runs the workers under the faults, waits until the sidecars have recovered, and judges the history.
func (r *run) play(events []Event, faults []Fault) []Violation {
	watching, unwatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { r.stalls.Watch(watching, r.history.Now) })
	defer watch.Wait()
	defer unwatch()

	// Calls that began before the end of the faults are finished after it, so that few outcomes stay unknown.
	ctx, cancel := context.WithTimeout(context.Background(), r.Duration+2*patience)
	defer cancel()
	var work sync.WaitGroup
	for i, w := range r.workers {
		work.Go(func() { w.work(ctx, w.roles()[i/len(r.sidecars)]) })
	}
	r.strike(events, faults)
	r.t.Logf("chaos: %s: all faults have ended", at(r.history.Now()))
	found := r.heal(ctx)
	r.t.Logf("chaos: %s: healed", at(r.history.Now()))
	close(r.over)
	work.Wait()
	r.t.Logf("chaos: %s: all work is done", at(r.history.Now()))
	for _, w := range r.workers {
		w.kill()
	}
	if len(found) == 0 { // otherwise some sidecars do not answer
		found = append(found, r.settled()...)
	}
	return append(found, r.judge()...)
}

// strike carries out the schedule, and returns when all its faults have ended.
func (r *run) strike(events []Event, faults []Fault) {
	byName := make(map[string]Fault)
	for _, f := range faults {
		byName[f.Name] = f
	}
	start := time.Now()
	var wg sync.WaitGroup
	for _, e := range events {
		wg.Go(func() {
			time.Sleep(e.At - time.Since(start))
			r.lose(e)
			from := r.history.Now()
			defer func() { r.harmed(e, from) }()
			end, err := byName[e.Fault].Begin(e)
			r.note(e, "began", err)
			if end == nil {
				return
			}
			time.Sleep(e.For)
			r.note(e, "ended", end())
		})
	}
	wg.Wait()
	time.Sleep(r.Duration - time.Since(start))
}

// lose records that writes may be lost from now on, if the fault may lose any.
func (r *run) lose(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.top.Loses, e.Fault) {
		r.whole = min(r.whole, r.history.Now())
	}
}

// harmed records a fault that has ended.
func (r *run) harmed(e Event, from time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.history.Now()
	if e.Fault != killClient { // this one harms only the leases of that client
		r.harm = append(r.harm, Span{from, now})
	}
	if slices.Contains(r.top.Loses, e.Fault) {
		r.settledAt = max(r.settledAt, now)
	}
}

func (r *run) note(e Event, what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s %s %s", at(r.history.Now()), what, e)
	if err != nil {
		line += ": " + err.Error()
	} else if what == "began" {
		r.counts[e.Fault]++
	}
	r.log = append(r.log, line)
}

// say logs the counts of the run's faults and operations.
func (r *run) say() {
	h := r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	outcomes := make(map[string]int)
	for _, o := range h.Ops {
		outcomes[string(o.Kind)+" "+string(o.Outcome)]++
	}
	ends := make(map[string]int)
	for _, x := range h.Holds {
		ends[x.End]++
	}
	admitted, unknown := 0, 0
	for _, c := range h.Charges {
		if c.Admitted {
			admitted++
		}
		if c.Unknown {
			unknown++
		}
	}
	r.t.Logf("chaos: faults: %v", r.counts)
	r.t.Logf("chaos: operations of locks and semaphores: %v", outcomes)
	r.t.Logf("chaos: holds: %v; waits: %d", ends, len(h.Waits))
	shown := make(map[string]int)
	for _, n := range nouns {
		maps.Copy(shown, n.shows(h))
	}
	r.t.Logf("chaos: of other nouns: %v", shown)
	r.t.Logf("chaos: charges: %d, admitted %d, unknown %d", len(h.Charges), admitted, unknown)
}

// report fails the test, and keeps the schedule, the history and the logs.
func (r *run) report(events []Event, found []Violation) {
	const shown = 10
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, topology %s, %v: make chaos SEED=%d TOPOLOGY=%s DURATION=%v MESSAGES=%d\n",
		r.Seed, r.Topology, r.Duration, r.Seed, r.Topology, r.Duration, r.Messages)
	for i, v := range found {
		fmt.Fprintf(&b, "%s\n", v)
		if i < shown {
			r.t.Errorf("chaos: %s", v)
		}
	}
	fmt.Fprintf(&b, "\nschedule\n")
	for _, e := range events {
		fmt.Fprintf(&b, "%s\n", e)
	}
	fmt.Fprintf(&b, "\nfaults as they came\n%s\n", strings.Join(r.log, "\n"))
	h := r.history
	for title, lines := range map[string][]string{
		"operations": texts(h.Ops...), "holds": texts(h.Holds...), "charges": texts(h.Charges...), "waits": texts(h.Waits...),
		"counts": texts(h.Counts...), "openings": texts(h.Opened...), "entries": texts(h.Entries...), "deliveries": texts(h.Given...),
		"breakers": texts(h.Asked...), "messages": texts(h.Posted...), "handlings": texts(h.Handled...), "dead letters": texts(h.Letters...),
	} {
		fmt.Fprintf(&b, "\n%s\n%s\n", title, strings.Join(lines, "\n"))
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("chaos-%s-%d-", r.Topology, r.Seed))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "history.txt"), []byte(b.String()), 0o600)
	}
	files := journalsIn(r.dir)
	for _, s := range r.sidecars {
		files = append(files, s.Log())
	}
	for _, f := range files {
		err = errors.Join(err, os.Rename(f, filepath.Join(dir, filepath.Base(f))))
	}
	r.t.Errorf("chaos: seed %d, topology %s: %d violations; the history and the logs are in %s (%v)", r.Seed, r.Topology, len(found), dir, err)
}
