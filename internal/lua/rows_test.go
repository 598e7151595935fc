package lua_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// as returns a server's URL as one of the topology, with the same credentials and database.
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

// behind starts another server that works, a sentinel or a node of a cluster, which names the server of url as the
// master of everything. It returns the URL of that other server.
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

// refusal is a way in which a server that worked begins to refuse commands.
type refusal struct {
	name, line string
	commands   []string // the commands that it refuses
	away       bool     // Redis counts as down meanwhile
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

// The refusal of a server that worked is reported in the same way on every topology, plain and over TLS.
func TestEveryRefusalIsReportedOnEveryTopology(t *testing.T) {
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
				r := luatest.Open(t, o)
				require.NoError(t, luatest.UntilUp(t, r))
				for _, refusal := range everyRefusal {
					isTold(t, r, a, refusal)
					require.Contains(t, log.String(), "trouble="+refusal.name)
				}
			})
		}
	}
}

// isTold makes the actor refuse, checks what the runner reports, and ends the refusal.
func isTold(t *testing.T, r *lua.Runner, a *actor, refusal refusal) {
	t.Helper()
	a.turnDown(refusal.line, refusal.commands...)
	told := untilTrouble(t, r, refusal.name)
	require.Equal(t, !refusal.away, r.Status().Up, refusal.line)
	require.NotEmpty(t, told.Remedy)
	require.NotContains(t, told.Remedy, "redis.sentinel", "it is no sentinel that refuses")
	ctx := luatest.Deadline(t)
	in := bucket("k", 1_000_000)
	_, errs := lua.Batch(ctx, r, ratelimit.TokenBucketScript, []ratelimit.TokenBucketIn{in})
	_, attempt := lua.Attempt(ctx, r, ratelimit.TokenBucketScript, in, lua.StoredReply{})
	_, run := lua.Run(ctx, r, ratelimit.TokenBucketScript, in, lua.StoredReply{})
	require.NoError(t, ctx.Err(), "%s: it took its whole time", refusal.line)
	for _, err := range []error{errs[0], attempt, run} {
		require.ErrorIs(t, err, redis.ErrUnavailable, refusal.line)
		require.NotErrorIs(t, err, redis.ErrMaybeExecuted, refusal.line)
		var told *redis.Trouble
		require.ErrorAs(t, err, &told)
		require.Equal(t, refusal.name, told.Name, refusal.line)
	}
	a.turnDown("")
	untilTrouble(t, r, "")
	_, err := lua.Run(luatest.Deadline(t), r, ratelimit.TokenBucketScript, in, lua.StoredReply{})
	require.NoError(t, err, "after %s", refusal.line)
}

// way is an address or configuration that is wrong from the start.
type way struct {
	o    lua.Options // with the URL of one server
	want string
	// only are the places at which it is possible; none = all of them.
	only []string
}

// The places at which the wrong server may be: reached are those to which a runner connects first, sent those that
// another server names.
var (
	reached = []string{"standalone", "sentinel", "cluster"}
	sent    = []string{"behind a sentinel", "another node of the cluster"}
	servers = append([]string{"standalone", "cluster"}, sent...) // all but a sentinel
)

// wrongWays returns all wrong ways by name. They are of real servers where a real server can be wrong in this way.
func wrongWays(t *testing.T) map[string]way {
	t.Helper()
	plain, secure, stopped := redistest.Start(t), redistest.StartTLS(t), redistest.Start(t)
	secret := redistest.Start(t, "--requirepass", "open-sesame")
	stopped.Stop()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	others, err := tls.Listen("tcp", "127.0.0.1:0", redistest.NewCertificates(t).Server(t))
	require.NoError(t, err)
	hangUpTLS(t, others)
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(noPEM, []byte("nothing"), 0o600))
	nobody := startActor(t)
	nobody.tells("")
	trusted := redis.TLSFiles{CA: secure.CA, Cert: secure.Cert, Key: secure.Key}
	at := func(url string) string { _, addr, _ := strings.Cut(url, "://"); return addr }
	ways := map[string]way{
		"nothing listens":      {o: lua.Options{URL: stopped.URL()}, want: "refused"},
		"no socket":            {lua.Options{URL: "unix:///nowhere/redis.sock"}, "refused", reached[:1]},
		"no name":              {o: lua.Options{URL: "redis://nowhere.invalid:6379"}, want: "no_such_host"},
		"no route":             {o: lua.Options{URL: "redis://255.255.255.255:6379"}, want: "unreachable"},
		"no password":          {lua.Options{URL: secret.URL()}, "auth", servers},
		"wrong password":       {lua.Options{URL: "redis://:hunter2@" + at(secret.URL())}, "auth", servers},
		"no password file":     {lua.Options{URL: secret.URL(), PasswordFile: "/nowhere/password"}, "file", servers},
		"none for sentinels":   {lua.Options{URL: nobody.url, Sentinel: redis.Login{PasswordFile: "/nowhere/password"}}, "file", reached[1:2]},
		"no database":          {lua.Options{URL: plain.URL() + "/99"}, "no_database", []string{reached[0], sent[0]}},
		"no cluster":           {lua.Options{URL: plain.URL()}, "standalone", []string{"cluster"}},
		"no sentinel":          {lua.Options{URL: plain.URL()}, "no_command", []string{"sentinel"}},
		"no master":            {lua.Options{URL: nobody.url}, "no_master", reached[1:]},
		"silent":               {o: lua.Options{URL: "redis://" + mute.Addr().String(), CommandTimeout: 500 * time.Millisecond}, want: "silent"},
		"TLS to a plain one":   {o: lua.Options{URL: "rediss://" + at(plain.URL()), TLS: trusted, DialTimeout: 500 * time.Millisecond}, want: "tls"},
		"plain to one of TLS":  {o: lua.Options{URL: "redis://" + at(secure.URL()), CommandTimeout: 2 * time.Second}, want: "hung_up"},
		"no CA file":           {lua.Options{URL: secure.URL(), TLS: redis.TLSFiles{CA: "/nowhere/ca.pem"}}, "file", reached},
		"no CA in the file":    {lua.Options{URL: secure.URL(), TLS: redis.TLSFiles{CA: noPEM}}, "file", reached},
		"another authority":    {lua.Options{URL: secure.URL(), TLS: redis.TLSFiles{CA: secure.Other}}, "certificate", reached},
		"another certificate":  {o: lua.Options{URL: "rediss://" + others.Addr().String(), TLS: trusted}, want: "certificate"},
		"another name":         {lua.Options{URL: secure.URL(), TLS: redis.TLSFiles{CA: secure.CA, ServerName: "elsewhere.test"}}, "certificate", reached},
		"no certificate shown": {lua.Options{URL: secure.URL(), TLS: redis.TLSFiles{CA: secure.CA}}, "tls", reached},
	}
	for _, refusal := range everyRefusal {
		if !refusal.away && !slices.Contains(refusal.commands, "*") && refusal.name != "misconf" || refusal.name == "lost" {
			continue // a server can begin to refuse so, but not from the start
		}
		a := startActor(t)
		a.turnDown(refusal.line, "*")
		ways["it says "+refusal.line] = way{o: lua.Options{URL: a.url}, want: refusal.name}
	}
	return ways
}

// hangUpTLS accepts connections, and closes each after the handshake.
func hangUpTLS(t *testing.T, l net.Listener) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
}

func TestTroubleWithTheConnectionIsNamedOnEveryTopology(t *testing.T) {
	t.Parallel()
	good := redistest.NewCertificates(t)
	for name, w := range wrongWays(t) {
		for _, place := range slices.Concat(reached, sent) {
			if w.only != nil && !slices.Contains(w.only, place) {
				continue
			}
			t.Run(name+"/"+place, func(t *testing.T) {
				t.Parallel()
				o := w.o
				switch place {
				case "behind a sentinel":
					o.URL = behind(t, "sentinel", o.URL, good)
				case "another node of the cluster":
					o.URL = behind(t, "cluster", o.URL, good)
				default:
					o.URL = as(t, place, o.URL)
				}
				if o.TLS.CA != "" && slices.Contains(sent, place) {
					o.TLS.CA = both(t, o.TLS.CA, good.CA)
				}
				isNamed(t, o, place, w.want)
			})
		}
	}
}

// both returns a file with the certificates of two files.
func both(t *testing.T, a, b string) string {
	t.Helper()
	var all []byte
	for _, name := range []string{a, b} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, text...)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, all, 0o600))
	return file
}

// isNamed opens a runner, and requires that it names this trouble in its status, its errors and its log.
func isNamed(t *testing.T, o lua.Options, place, want string) {
	t.Helper()
	var log noise
	o.Log = logTo(&log)
	r := luatest.Open(t, o)
	found := untilTrouble(t, r, want)
	require.False(t, r.Status().Up)
	require.NotEmpty(t, found.Remedy)
	require.NotContains(t, found.Words+found.Remedy, "127.0.0.1", "it may be told to anyone")
	if place == "sentinel" && slices.Contains([]string{"auth", "denied", "no_command", "file"}, want) {
		require.Regexp(t, "sentinels? ", found.Words)
		require.Contains(t, found.Remedy, "entinel")
	} else {
		require.NotContains(t, found.Remedy, "redis.sentinel")
	}
	_, err := lua.Attempt(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("k", 5), lua.StoredReply{})
	require.ErrorIs(t, err, redis.ErrUnavailable)
	require.NotErrorIs(t, err, redis.ErrMaybeExecuted)
	var told *redis.Trouble
	require.ErrorAs(t, err, &told)
	require.Equal(t, want, told.Name)
	require.NotContains(t, err.Error()+log.String(), "hunter2")
	await(t, func() bool { return strings.Contains(log.String(), "trouble="+want) })
	if slices.Contains(reached, place) {
		require.Equal(t, 1, strings.Count(log.String(), "trouble="), "it is said once:\n%s", log.String())
	}
}

// A server that has no room for more connections replies so to a new one, and closes it. That is no outage of a server
// that was reached before: existing connections stay.
func TestAServerThatHasNoRoomAnyMoreIsNamed(t *testing.T) {
	t.Parallel()
	s := redistest.StartUser(t, "app", "pw", "~*", "&*", "+@all")
	hasNoRoom(t, s.URL(), s.Client(t))
}

// hasNoRoom closes all connections of the user app, and makes the servers accept no new ones.
func hasNoRoom(t *testing.T, url string, masters ...*goredis.Client) {
	t.Helper()
	var log noise
	r := luatest.Open(t, lua.Options{URL: strings.Replace(url, "://", "://app:pw@", 1), MinIdle: 1, MaxConns: 2, Log: logTo(&log)})
	require.NoError(t, luatest.UntilUp(t, r))
	for _, m := range masters {
		require.NoError(t, m.ConfigSet(luatest.Deadline(t), "maxclients", "1").Err())
	}
	await(t, func() bool {
		for _, m := range masters { // repeatedly, since a connection that is logging in has no user yet
			require.NoError(t, do(t, m, []string{"client", "kill", "user", "app"}))
		}
		_, err := lua.Attempt(luatest.Deadline(t), r, ratelimit.TokenBucketScript, bucket("{k}", 1_000_000), lua.StoredReply{})
		told := r.Status().Trouble
		return errors.Is(err, redis.ErrUnavailable) && strings.Contains(err.Error(), "max number of clients") &&
			told != nil && told.Name == "maxclients"
	})
	// In a cluster the connections to one master may all be closed while a call goes to another one, so it may count as
	// down.
	keeps := len(masters) == 1
	require.True(t, r.Status().Up || !keeps, "who has a connection keeps it")
	for _, m := range masters {
		require.NoError(t, m.ConfigSet(luatest.Deadline(t), "maxclients", "10000").Err())
	}
	untilTrouble(t, r, "")
	_, err := take(luatest.Deadline(t), r, "{k}", 1_000_000)
	require.NoError(t, err)
	require.True(t, !keeps || !strings.Contains(log.String(), "redis is down"), log.String())
}
