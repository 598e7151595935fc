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
// permit has more conditions.
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

// memberLease is what the text of a lease says, so that any sidecar can renew it
// and give it back without having kept anything.
type memberLease struct {
	noun          string
	token, member string // an empty member = it is not known which
	scope, rule   string
}

// leaseMarks begin the texts of each noun's leases. They are changed when the text
// changes its meaning, since leases outlive rollouts.
var leaseMarks = map[string]string{nounPool: "p1", nounPermit: "m1"}

// String is the lease as its owner sees it. Texts of the user's come last.
func (m memberLease) String() string {
	return fmt.Sprintf("%s.%s.%d.%d.%s%s%s", leaseMarks[m.noun], m.token, len(m.scope), len(m.rule), m.scope, m.rule, m.member)
}

// parseLease reads what a caller says a lease is.
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
