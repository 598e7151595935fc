package pool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// members is the part that pools and permits share: both lease members of a pool, and a
// permit adds conditions.
type members struct {
	noun   string
	runner *lua.Runner
	keys   keys
	leases *lease.Leases
	lines  *lease.Lines
	renews coord.Halved[api.PoolRenewParams, api.PoolRenewResult]
}

func newMembers(noun string, r *lua.Runner, k coord.Keys, l *lease.Leases, n *lease.Lines) members {
	m := members{noun: noun, runner: r, keys: keys{k}, leases: l, lines: n}
	m.renews = m.renewing().Halved()
	return m
}

// memberLease is the content of the text of a lease. The text has all that a sidecar needs to renew the lease
// and give it back, so any sidecar can.
type memberLease struct {
	noun          string
	token, member string // an empty member = not known
	scope, rule   string
}

// leaseMarks are the prefixes of the texts of each noun's leases. A change of the text's meaning needs a new
// prefix, since leases outlive rollouts.
var leaseMarks = map[string]string{nounPool: "p1", nounPermit: "m1"}

// String returns the text of the lease, which its owner gets. The parts that users chose come last.
func (m memberLease) String() string {
	return fmt.Sprintf("%s.%s.%d.%d.%s%s%s", leaseMarks[m.noun], m.token, len(m.scope), len(m.rule), m.scope, m.rule, m.member)
}

// parseLease parses the text of a lease that a caller sent.
func parseLease(noun, text string) (memberLease, error) {
	bad := coord.Invalid("lease: this is not one of %s.acquire; give the lease as it was answered there", noun)
	parts := strings.SplitN(text, ".", 5)
	if len(parts) != 5 || parts[0] != leaseMarks[noun] || parts[1] == "" || len(parts[1]) > 64 {
		return memberLease{}, bad
	}
	scope, err := strconv.ParseUint(parts[2], 10, 16)
	rule, errRule := strconv.ParseUint(parts[3], 10, 16)
	rest := parts[4]
	if err != nil || errRule != nil || uint64(len(rest)) < scope+rule ||
		max(scope, rule, uint64(len(rest))-scope-rule) > api.MaxNameBytes {
		return memberLease{}, bad
	}
	return memberLease{
		noun: noun, token: parts[1], scope: rest[:scope], rule: rest[scope : scope+rule], member: rest[scope+rule:],
	}, nil
}
