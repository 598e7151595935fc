// Package doctor looks at everything that a sidecar stands on, and says of each thing whether it is as it should be, and
// else the cause and the fix.
//
// Its invariants: every look is bounded in time and changes nothing; what a check found wrong is a finding.Problem of the
// package that serve itself hears it from, so that both say the same; a check whose ground is missing says so, and does not
// guess. Each check has a section in docs/doctor.md by its id.
//
// It mends nothing.
package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Options are what the process knows.
type Options struct {
	// Sources are what serve would read its configuration from.
	Sources config.Sources
	// Rules checks what only the nouns know of a configuration.
	Rules config.Check
	// Open connects to the Redis of a configuration as serve does.
	Open func(*config.Config) (*lua.Runner, error)
	// Stays are the kinds of keys that have no TTL by intent; one that ends with a colon is the beginning of kinds.
	Stays []string
	// Pre: no sidecar runs yet. What a start needs is looked at, and not what a running one has.
	Pre bool
	// Version is that of this binary.
	Version string
	// Timeout bounds each check.
	Timeout time.Duration
	// Podinfo is the folder of a downward API volume with the files labels and annotations.
	Podinfo string
	// Now is the clock of this machine.
	Now func() time.Time
	// Proc and Group are where the kernel tells of this process and its container.
	Proc  string
	Group cgroup.Group
}

// The states of a finding.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	// Unchecked: something else has to be mended first, which Cause names.
	Unchecked = "unchecked"
)

// Finding is how one check went.
type Finding struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Found string `json:"found,omitempty"`
	Cause string `json:"cause,omitempty"`
	Fix   string `json:"fix,omitempty"`
	Docs  string `json:"docs"`
}

// Report is what all checks found, in their order.
type Report struct {
	OK     bool      `json:"ok"` // no check failed
	Failed int       `json:"failed"`
	Warned int       `json:"warned"`
	Checks []Finding `json:"checks"`
}

// check is one thing to look at.
type check struct {
	id string
	// after is what has to be in order first; a warning is in order.
	after []string
	// run says what it found, and as an error what is wrong: a finding.Problem, an unchecked, or errAbsent.
	run func(*examination, context.Context) (found string, err error)
}

// errAbsent: there is no such thing here to look at.
var errAbsent = errors.New("not here")

// unchecked is why a check could not be made.
type unchecked string

func (u unchecked) Error() string { return string(u) }

// checks are all of them, in the order in which one mends them.
var checks = []check{
	{configID, nil, (*examination).configuration},
	{config.MarkCheck, nil, (*examination).marks},
	{rulesID, nil, (*examination).rules},
	{breakersID, nil, (*examination).breakers},
	{memoryID, []string{configID}, (*examination).memory},
	{cpuID, nil, (*examination).cpu},
	{mountsID, []string{configID}, (*examination).mounts},
	{policyID, []string{configID}, (*examination).policy},
	{folderID, []string{configID}, (*examination).folder},
	{fileID, []string{folderID}, (*examination).file},
	{sidecarID, []string{fileID}, (*examination).sidecar},
	{httpID, []string{configID, sidecarID}, (*examination).http},
	{telemetryID, nil, (*examination).exporting},
	{filesID, []string{configID}, (*examination).redisFiles},
	{nameID, []string{configID}, (*examination).redisName},
	{reachID, []string{nameID}, (*examination).redisReach},
	{tlsID, []string{filesID, reachID}, (*examination).redisTLS},
	{loginID, []string{filesID, tlsID}, (*examination).redisLogin},
	{topologyID, []string{loginID}, (*examination).redisTopology},
	{sentinelLoginID, []string{filesID, nameID}, (*examination).redisSentinelLogin},
	{sentinelID, []string{sentinelLoginID}, (*examination).redisSentinel},
	{clusterID, []string{loginID}, (*examination).redisCluster},
	{versionID, []string{loginID}, (*examination).redisVersion},
	{roleID, []string{loginID}, (*examination).redisRole},
	{commandsID, []string{loginID}, (*examination).redisCommands},
	{aclID, []string{loginID}, (*examination).redisACL},
	{replicasID, []string{loginID}, (*examination).redisReplicas},
	{redisMemoryID, []string{loginID}, (*examination).redisMemory},
	{evictionID, []string{loginID}, (*examination).redisEviction},
	{diskID, []string{loginID}, (*examination).redisDisk},
	{clockID, []string{loginID}, (*examination).redisClock},
	{latencyID, []string{loginID}, (*examination).redisLatency},
	{ttlID, []string{loginID}, (*examination).redisTTL},
}

// IDs are the ids of all checks, in their order.
func IDs() []string {
	ids := make([]string, len(checks))
	for i, c := range checks {
		ids[i] = c.id
	}
	return ids
}

// Run makes all checks. Its time is bounded by theirs.
func Run(ctx context.Context, o Options) Report {
	e := &examination{o: o, bad: map[string]bool{}}
	defer e.close()
	r := Report{OK: true}
	for _, c := range checks {
		f, absent := e.make(ctx, c)
		if absent {
			continue
		}
		switch f.State {
		case Fail:
			r.OK = false
			r.Failed++
		case Warn:
			r.Warned++
		}
		r.Checks = append(r.Checks, f)
	}
	return r
}

// examination is one run of all checks.
type examination struct {
	o   Options
	bad map[string]bool // the checks that failed or were not made

	config   *config.Config // nil if there is none that is valid
	problems problems
	files    []string // that were read, or should have been
	sidecarState
	redisState
}

// make makes one check, unless what it stands on is not in order.
func (e *examination) make(ctx context.Context, c check) (f Finding, absent bool) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	f = Finding{ID: c.id, State: OK, Docs: finding.Docs(c.id)}
	var err error
	for _, before := range c.after {
		if e.bad[before] {
			err = unchecked(before + " has to be in order first")
			break
		}
	}
	if err == nil {
		f.Found, err = c.run(e, ctx)
	}
	var p *finding.Problem
	var no unchecked
	switch {
	case err == nil:
		return f, false
	case errors.Is(err, errAbsent):
		return f, true
	case errors.As(err, &no):
		f.State, f.Cause = Unchecked, no.Error()
	case errors.As(err, &p):
		f.State, f.Cause, f.Fix = Fail, p.Cause, p.Fix
		if p.Warns {
			f.State = Warn
		}
	default:
		f.State, f.Cause, f.Fix = Fail, err.Error(), "see "+f.Docs
	}
	e.bad[c.id] = f.State == Fail || f.State == Unchecked
	return f, false
}

// warning is a problem with which the sidecar works all the same.
func warning(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix, Warns: true}
}

// failure is a problem with which it does not.
func failure(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix}
}
