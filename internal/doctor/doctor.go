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
	// Lasting are the kinds of keys that have no TTL by intent; one that ends with a colon is the beginning of kinds.
	Lasting []string
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
	// here tells whether there is such a thing to look at, once the configuration is read; nil = always.
	here func(*examination) bool
	// after is what has to be in order first; a warning is in order.
	after []string
	// run says what it found, and as an error what is wrong: a finding.Problem, an unchecked, or errAbsent
	// where there turns out to be no such thing.
	run func(*examination, context.Context) (found string, err error)
}

// errAbsent: there is no such thing here to look at.
var errAbsent = errors.New("not here")

// unchecked is why a check could not be made, and the check that has to be in order first, if it is one.
type unchecked struct{ why, by string }

func (u unchecked) Error() string { return u.why }

// stoppedBy: another check has to be in order first.
func stoppedBy(id string) unchecked { return unchecked{id + " has to be in order first", id} }

// unknown: what the check looks at cannot be seen.
func unknown(why string) unchecked { return unchecked{why: why} }

// checks are all of them, in the order in which one mends them.
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

// Run makes all checks. Its time is bounded by theirs.
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
	bad map[string]string // the checks that failed, or were not made because of another, and the one that failed

	config   *config.Config // nil if there is none that is valid
	problems problems
	files    []string // that were read, or should have been
	sidecarState
	redisState
}

// make makes one check, unless what it stands on is not in order.
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

// Docs is where an error of a start is explained; empty if it is none that a check finds.
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

// warning is a problem with which the sidecar works all the same.
func warning(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix, Warns: true}
}

// failure is a problem with which it does not.
func failure(id, cause, fix string) *finding.Problem {
	return &finding.Problem{ID: id, Cause: cause, Fix: fix}
}
