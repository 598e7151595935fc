// Package doctor checks everything that a sidecar depends on, and reports for each check whether it passed, or else the
// cause and the fix.
//
// Its invariants: every check is bounded in time and changes nothing; a problem is a finding.Problem made by the package
// from which serve gets the same problem, so that doctor and serve report it in the same words; a check whose
// precondition fails is reported as unchecked and does not guess. Each check has a section in docs/doctor.md under its
// id.
//
// It repairs nothing.
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

// Options are the inputs of a run.
type Options struct {
	// Sources are the sources from which serve would read its configuration.
	Sources config.Sources
	// Rules makes the checks of a configuration that only the nouns can make.
	Rules config.Check
	// Open connects to the Redis of a configuration as serve does.
	Open func(*config.Config) (*lua.Runner, error)
	// Lasting are the kinds of keys that have no TTL by intent; one that ends with a colon is a prefix of kinds.
	Lasting []string
	// Pre: no sidecar runs yet. The run checks what a start needs, not what a running sidecar has.
	Pre bool
	// Version is the version of this binary.
	Version string
	// Timeout bounds each check.
	Timeout time.Duration
	// Podinfo is the folder of a downward API volume with the files labels and annotations.
	Podinfo string
	// Now is the clock of this machine.
	Now func() time.Time
	// Proc is the folder of procfs, and Group reads the limits and the usage of this container.
	Proc  string
	Group cgroup.Group
}

// The states of a finding.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	// Unchecked: the check could not be made, for the reason in Cause; often another check has to pass first.
	Unchecked = "unchecked"
)

// Finding is the outcome of one check.
type Finding struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Found string `json:"found,omitempty"`
	Cause string `json:"cause,omitempty"`
	Fix   string `json:"fix,omitempty"`
	Docs  string `json:"docs"`
}

// Report has the outcomes of all checks, in the order of the checks.
type Report struct {
	OK     bool      `json:"ok"` // no check failed
	Failed int       `json:"failed"`
	Warned int       `json:"warned"`
	Checks []Finding `json:"checks"`
}

// check is one check of a run.
type check struct {
	id string
	// here reports, once the configuration is read, whether the check applies; nil = always.
	here func(*examination) bool
	// after are the checks that must not have failed before this one is made; a warning is no failure.
	after []string
	// run returns what it found and, as an error, what is wrong: a finding.Problem, an unchecked, or errAbsent
	// if the check turns out not to apply.
	run func(*examination, context.Context) (found string, err error)
}

// errAbsent: the check does not apply here, and is left out of the report.
var errAbsent = errors.New("not here")

// unchecked is the reason why a check could not be made and, if another check has to pass first, its id.
type unchecked struct{ why, by string }

func (u unchecked) Error() string { return u.why }

// stoppedBy: the check with this id has to pass first.
func stoppedBy(id string) unchecked { return unchecked{id + " has to be in order first", id} }

// unknown: the data that the check needs cannot be read.
func unknown(why string) unchecked { return unchecked{why: why} }

// checks are all checks, in the order in which problems should be fixed.
var checks = []check{
	{configID, nil, nil, (*examination).configuration},
	{config.MarkCheck, nil, nil, (*examination).marks},
	{rulesID, nil, nil, (*examination).rules},
	{breakersID, nil, nil, (*examination).breakers},
	{memoryID, nil, []string{configID}, (*examination).memory},
	{cpuID, nil, nil, (*examination).cpu},
	{mountsID, (*examination).inPod, []string{configID}, (*examination).mounts},
	{policyID, (*examination).inPod, []string{configID}, (*examination).policy},
	{folderID, nil, []string{configID}, (*examination).folder},
	{fileID, nil, []string{folderID}, (*examination).file},
	{sidecarID, (*examination).running, []string{configID}, (*examination).sidecar},
	{httpID, nil, []string{configID, sidecarID}, (*examination).http},
	{telemetryID, nil, nil, (*examination).exporting},
	{filesID, (*examination).onRedis, []string{configID}, (*examination).redisFiles},
	{nameID, (*examination).onRedis, []string{configID}, (*examination).redisName},
	{reachID, nil, []string{nameID}, (*examination).redisReach},
	{tlsID, (*examination).onRedis, []string{filesID, reachID}, (*examination).redisTLS},
	{loginID, (*examination).onRedis, []string{filesID, tlsID}, (*examination).redisLogin},
	{topologyID, (*examination).onRedis, []string{loginID}, (*examination).redisTopology},
	{sentinelLoginID, (*examination).onSentinels, []string{filesID, nameID}, (*examination).redisSentinelLogin},
	{sentinelID, (*examination).onSentinels, []string{sentinelLoginID}, (*examination).redisSentinel},
	{clusterID, (*examination).onCluster, []string{loginID}, (*examination).redisCluster},
	{versionID, (*examination).onRedis, []string{loginID}, (*examination).redisVersion},
	{roleID, (*examination).onRedis, []string{loginID}, (*examination).redisRole},
	{commandsID, (*examination).onRedis, []string{loginID}, (*examination).redisCommands},
	{aclID, (*examination).onRedis, []string{loginID}, (*examination).redisACL},
	{replicasID, (*examination).onRedis, []string{loginID}, (*examination).redisReplicas},
	{redisMemoryID, (*examination).onRedis, []string{loginID}, (*examination).redisMemory},
	{evictionID, (*examination).onRedis, []string{loginID}, (*examination).redisEviction},
	{diskID, (*examination).onRedis, []string{loginID}, (*examination).redisDisk},
	{clockID, (*examination).onRedis, []string{loginID}, (*examination).redisClock},
	{latencyID, (*examination).onRedis, []string{loginID}, (*examination).redisLatency},
	{ttlID, (*examination).onRedis, []string{loginID}, (*examination).redisTTL},
}

// IDs are the ids of all checks, in their order.
func IDs() []string {
	ids := make([]string, len(checks))
	for i, c := range checks {
		ids[i] = c.id
	}
	return ids
}

// Run makes all checks. Its time is bounded by the sum of their timeouts.
func Run(ctx context.Context, o Options) Report {
	e := &examination{o: o, bad: map[string]string{}}
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
	bad map[string]string // by check that failed or could not be made: the check that is the root cause

	config   *config.Config // nil if there is none that is valid
	problems problems
	files    []string // the files of the configuration, also those that could not be read
	sidecarState
	redisState
}

// make makes one check, unless a check that has to pass first did not.
func (e *examination) make(ctx context.Context, c check) (f Finding, absent bool) {
	if c.here != nil && e.config != nil && !c.here(e) {
		return f, true
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	f = Finding{ID: c.id, State: OK, Docs: finding.Docs(c.id)}
	var err error
	for _, before := range c.after {
		if root := e.bad[before]; root != "" {
			err = stoppedBy(root)
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
	switch {
	case f.State == Fail:
		e.bad[c.id] = c.id
	case no.by != "":
		e.bad[c.id] = no.by
	case f.State == Unchecked:
		e.bad[c.id] = c.id
	}
	return f, false
}

// Docs returns the link to the documentation of an error with which a start failed; empty if no check finds that
// error.
func Docs(err error) string {
	var p *finding.Problem
	var mistakes config.Problems
	switch {
	case errors.As(err, &p):
		return finding.Docs(p.ID)
	case errors.As(err, &mistakes):
		by := sortedByCheck(mistakes)
		for _, id := range []string{configID, rulesID, breakersID} {
			if len(by[id]) > 0 {
				return finding.Docs(id)
			}
		}
	}
	return ""
}

// warning is a problem despite which the sidecar works.
func warning(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix, Warns: true}
}

// failure is a problem that keeps the sidecar from working.
func failure(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix}
}
