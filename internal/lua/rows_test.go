package lua_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// as is the URL of a server when it is met as one of the topology; credentials and
// database stay.
func as(t *testing.T, topology, url string) string {
	t.Helper()
	scheme, rest, ok := strings.Cut(url, "://")
	require.True(t, ok)
	if topology == "standalone" {
		return url
	}
	if topology == "cluster" {
		return scheme + "+cluster://" + rest
	}
	addr, db, ok := strings.Cut(rest, "/")
	if ok {
		db = "/" + db
	}
	return scheme + "+sentinel://" + addr + "/m" + db
}

// behind is the URL of another server that is sound and names the one of url as
// the master of all: a sentinel, or a node of a cluster.
func behind(t *testing.T, topology, url string, certs *redistest.Certificates) string {
	t.Helper()
	scheme, rest, _ := strings.Cut(url, "://")
	if scheme == "redis" {
		certs = nil
	}
	login, addr := "", rest
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		login, addr = rest[:i+1], rest[i+1:]
	}
	addr, db, _ := strings.Cut(addr, "/")
	guide := startActorTLS(t, certs)
	guide.tells(addr)
	url = scheme + "://" + login + guide.addr
	if db != "" {
		url += "/" + db
	}
	return as(t, topology, url)
}

// refusal is how a server that was sound begins to refuse.
type refusal struct {
	name, line string
	commands   []string // that it refuses
	away       bool     // no call gets through meanwhile
}

var everyRefusal = []refusal{
	{"oom", "OOM command not allowed when used memory > 'maxmemory'.", []string{"EVALSHA"}, false},
	{"readonly", "READONLY You can't write against a read only replica.", []string{"EVALSHA"}, false},
	{"noreplicas", "NOREPLICAS Not enough good replicas to write.", []string{"EVALSHA"}, false},
	{"misconf", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", []string{"EVALSHA", "PING"}, false},
	{"clusterdown", "CLUSTERDOWN The cluster is down", []string{"EVALSHA"}, false},
	{"busy", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", []string{"*"}, false},
	{"maxclients", "ERR max number of clients reached", []string{"*"}, false},
	{"denied", "NOPERM User default has no permissions to run the 'evalsha' command", []string{"EVALSHA"}, false},
	{"no_command", "ERR unknown command 'EVALSHA', with args beginning with: ", []string{"EVALSHA"}, false},
	{"loading", "LOADING Redis is loading the dataset in memory", []string{"*"}, true},
	{"masterdown", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", []string{"*"}, true},
	{"denied", "NOPERM User default has no permissions to run the 'ping' command", []string{"PING"}, true},
	{"no_command", "ERR unknown command 'PING', with args beginning with: ", []string{"PING"}, true},
	{"auth", "NOAUTH Authentication required.", []string{"*"}, true},
	{"protected", denied, []string{"*"}, true},
	{"no_database", "ERR DB index is out of range", []string{"*"}, true},
	{"hung_up", "hang up", []string{"PING"}, true},
	{"lost", "hang up", []string{"EVALSHA"}, true},
}

// What a server says that was sound is told alike on every topology, and over TLS.
func TestEveryRefusalIsToldOnEveryTopology(t *testing.T) {
	t.Parallel()
	certs := redistest.NewCertificates(t)
	for _, topology := range []string{"standalone", "sentinel", "cluster"} {
		for _, with := range []*redistest.Certificates{nil, certs} {
			name := topology
			if with != nil {
				name += ", TLS"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				guide, a := startActorTLS(t, with), startActorTLS(t, with)
				guide.tells(a.addr)
				url := as(t, topology, guide.url)
				if topology == "standalone" {
					url = a.url
				}
				var log noise
				o := lua.Options{URL: url, Log: logTo(&log)}
				if with != nil {
					o.TLS.CA = with.CA
				}
				r := open(t, o)
				require.NoError(t, untilUp(t, r))
				for _, refusal := range everyRefusal {
					isTold(t, r, a, refusal)
					require.Contains(t, log.String(), "trouble="+refusal.name)
				}
			})
		}
	}
}

// isTold has the actor refuse, and looks at what is told until it does no more.
func isTold(t *testing.T, r *lua.Runner, a *actor, refusal refusal) {
	t.Helper()
	a.turnDown(refusal.line, refusal.commands...)
	told := untilTrouble(t, r, refusal.name)
	require.Equal(t, !refusal.away, r.Status().Up, refusal.line)
	require.NotEmpty(t, told.Remedy)
	require.NotContains(t, told.Remedy, "redis.sentinel", "it is no sentinel that refuses")
	ctx := deadline(t)
	in := bucket("k", 1_000_000)
	_, errs := lua.Batch(ctx, r, lua.RatelimitTokenBucket, []lua.RatelimitTokenBucketIn{in})
	_, attempt := lua.Attempt(ctx, r, lua.RatelimitTokenBucket, in, lua.Latch{})
	_, run := lua.Run(ctx, r, lua.RatelimitTokenBucket, in, lua.Latch{})
	require.NoError(t, ctx.Err(), "%s: it took its whole time", refusal.line)
	for _, err := range []error{errs[0], attempt, run} {
		require.ErrorIs(t, err, lua.ErrUnavailable, refusal.line)
		require.NotErrorIs(t, err, lua.ErrMaybeExecuted, refusal.line)
		var told *lua.Trouble
		require.ErrorAs(t, err, &told)
		require.Equal(t, refusal.name, told.Name, refusal.line)
	}
	a.turnDown("")
	untilTrouble(t, r, "")
	_, err := lua.Run(deadline(t), r, lua.RatelimitTokenBucket, in, lua.Latch{})
	require.NoError(t, err, "after %s", refusal.line)
}
