package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
)

// The checks of Redis. The table of troubles in internal/redis names them too.
const (
	filesID         = "redis-files"
	nameID          = "redis-name"
	reachID         = "redis-reach"
	tlsID           = "redis-tls"
	loginID         = "redis-login"
	topologyID      = "redis-topology"
	sentinelLoginID = "redis-sentinel-login"
	sentinelID      = "redis-sentinel"
	clusterID       = "redis-cluster"
	versionID       = "redis-version"
	roleID          = "redis-role"
	commandsID      = "redis-commands"
	aclID           = "redis-acl"
	replicasID      = "redis-replicas"
	redisMemoryID   = "redis-memory"
	evictionID      = "redis-eviction"
	diskID          = "redis-disk"
	clockID         = "redis-clock"
	latencyID       = "redis-latency"
	ttlID           = "redis-ttl"
)

// steps are the checks of connecting to Redis, in the order in which a connection goes through them: if one failed,
// those before it passed, and the outcome of those after it is unknown.
var steps = []string{reachID, tlsID, loginID}

// redisState is the state of Redis, which is read once for all checks.
type redisState struct {
	store  *lua.Runner
	status redis.Status
	survey redis.Survey
	// troubles has the first trouble of the store and its nodes for each check; where has the addresses at which it
	// was found.
	troubles map[string]*redis.Trouble
	where    map[string][]string
	opened   error
}

func (e *examination) close() {
	if e.store != nil {
		_ = e.store.Close() // an error does not matter: the store is not used any more
	}
}

// address returns the parsed redis.url, which was checked with the configuration.
func (e *examination) address() redisurl.URL {
	u, _ := redisurl.Parse(e.config.Redis.URL)
	return u
}

func (e *examination) onRedis() bool { return e.address().Topology != redis.Embedded }

func (e *examination) onSentinels() bool { return e.address().Topology == redisurl.Sentinel }

func (e *examination) onCluster() bool { return e.address().Topology == redisurl.Cluster }

// open connects as serve does. This also starts the probes.
func (e *examination) open() error {
	if e.store == nil && e.opened == nil {
		e.store, e.opened = e.o.Open(e.config)
	}
	return e.opened
}

// look waits for the first probe of each server, and reads what the probe does not.
func (e *examination) look(ctx context.Context) error {
	if err := e.open(); err != nil || e.troubles != nil {
		return err
	}
	e.store.Settle(ctx)
	e.status = e.store.Status()
	e.survey = e.store.Survey(ctx, coord.NewKeys(e.config.Redis.Prefix, e.config.Redis.Tenant).Inboxes()+"doctor", e.o.Now)
	e.troubles, e.where = map[string]*redis.Trouble{}, map[string][]string{}
	add := func(t *redis.Trouble, at string) {
		if t == nil {
			return
		}
		e.where[t.Check] = append(e.where[t.Check], at)
		if e.troubles[t.Check] == nil {
			e.troubles[t.Check] = t
		}
	}
	for _, n := range e.survey.Nodes {
		add(n.Trouble, n.Address)
	}
	add(e.survey.Trouble, e.status.Address)
	for _, s := range e.survey.Sentinels {
		if s.Trouble != nil && s.Trouble.Check == sentinelLoginID {
			add(s.Trouble, s.Address)
		}
	}
	return nil
}

// up returns the servers that answer.
func (e *examination) up() []redis.NodeSurvey {
	return slices.DeleteFunc(slices.Clone(e.survey.Nodes), func(n redis.NodeSurvey) bool { return !n.Up })
}

// begin reads the state of Redis. It returns an error, with which the check ends, if there is a trouble of this check,
// or if no server answers and the check needs one.
func (e *examination) begin(ctx context.Context, id string) (found string, err error) {
	if err := e.look(ctx); err != nil {
		return "", err
	}
	if t := e.troubles[id]; t != nil {
		return strings.Join(e.where[id], ", "), t.Problem()
	}
	if len(e.up()) > 0 {
		return "", nil
	}
	return "", e.away(id)
}

// away returns the error of a check while no server answers; nil if the check is a step before the one that failed, and
// so has passed.
func (e *examination) away(id string) error {
	at := slices.Index(steps, id)
	if e.status.Trouble == nil {
		if id == reachID {
			return failure(reachID, "the first look at Redis did not end in time", "raise --timeout; see whether Redis or this machine is overloaded")
		}
		return stoppedBy(reachID)
	}
	first := e.status.Trouble.Check
	failed := slices.Index(steps, first)
	before := first == filesID || first == nameID || strings.HasPrefix(first, sentinelID) // these fail before a connection is opened
	if at >= 0 && (failed > at || failed < 0 && !before) {
		return nil
	}
	return stoppedBy(first)
}

// redisFiles reads the files of passwords and certificates, before a connection needs them.
func (e *examination) redisFiles(context.Context) (string, error) {
	r := e.config.Redis
	var named []string
	for _, f := range []string{r.PasswordFile, r.TLS.CAFile, r.TLS.CertFile, r.TLS.KeyFile, r.Sentinel.PasswordFile} {
		if f != "" {
			named = append(named, f)
		}
	}
	if len(named) == 0 {
		return "", errAbsent
	}
	if err := e.open(); err != nil {
		return "", err
	}
	if t := e.store.Files(); t != nil {
		return "", t.Problem()
	}
	return strings.Join(named, ", "), nil
}

func (e *examination) redisName(ctx context.Context) (string, error) {
	u := e.address()
	if u.Network == "unix" {
		return "", errAbsent
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.Redis.Pool.DialTimeout)
	defer cancel()
	var found []string
	var failed error
	for _, addr := range u.Addrs {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return "", err
		}
		if net.ParseIP(host) != nil {
			continue
		}
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			failed = err
			continue
		}
		found = append(found, host+" is "+strings.Join(ips[:min(3, len(ips))], " "))
	}
	switch {
	case failed != nil:
		p := redis.TroubleOf(failed).Problem()
		p.ID, p.Warns = nameID, len(found) > 0 // one name that resolves is enough
		return strings.Join(found, ", "), p
	case len(found) == 0:
		return "", errAbsent
	default:
		return strings.Join(found, ", "), nil
	}
}

func (e *examination) redisReach(ctx context.Context) (string, error) {
	if !e.onRedis() {
		return Store(redis.Status{Topology: redis.Embedded}, nil)
	}
	if found, err := e.begin(ctx, reachID); err != nil {
		return found, err
	}
	if len(e.up()) == 0 {
		return e.status.Address + " takes connections", nil
	}
	return Store(redis.Status{Topology: e.status.Topology, Address: e.status.Address, Up: true, RTT: e.rtt()}, nil)
}

// redisTLS finds out whether the server expects TLS or not, if the trouble is a mismatch of the two.
func (e *examination) redisTLS(ctx context.Context) (string, error) {
	u := e.address()
	found, err := e.begin(ctx, tlsID)
	t := e.troubles[tlsID]
	switch {
	case t != nil && t.Name != "certificate":
		at := u.Addrs[0]
		if n := e.survey.Nodes; len(n) > 0 && !strings.ContainsAny(n[0].Address, ",/") {
			at = n[0].Address
		}
		if plain, secure := e.store.Speaks(ctx, at); plain != secure {
			kind := map[bool]string{true: "answers without TLS", false: "answers with TLS only"}[plain]
			found = at + " " + kind + ", and redis.url asks for " + map[bool]string{true: "TLS", false: "a connection without it"}[u.Secure]
		}
		return found, err
	case err != nil:
		return found, err
	case u.Secure:
		return "the certificate is trusted", nil
	default:
		return "without TLS, as redis.url says", nil
	}
}

func (e *examination) redisLogin(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, loginID); err != nil {
		return found, err
	}
	u, r := e.address(), e.config.Redis
	user := "user " + cmp.Or(r.Username, u.Username, "default")
	if !u.HasPassword && r.PasswordFile == "" {
		user += ", without a password"
	}
	return user, nil
}

func (e *examination) redisTopology(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, topologyID); err != nil {
		return found, err
	}
	return e.status.Topology + ", as redis.url says", nil
}

func (e *examination) redisSentinelLogin(ctx context.Context) (string, error) {
	if err := e.look(ctx); err != nil {
		return "", err
	}
	if t := e.troubles[sentinelLoginID]; t != nil {
		return strings.Join(e.where[sentinelLoginID], ", "), t.Problem()
	}
	for _, s := range e.survey.Sentinels {
		if s.Trouble == nil || s.Trouble.Check == sentinelID {
			return "accepted", nil
		}
	}
	return "", stoppedBy(reachID)
}

// redisSentinel compares the replies of the sentinels.
func (e *examination) redisSentinel(ctx context.Context) (string, error) {
	if err := e.look(ctx); err != nil {
		return "", err
	}
	if t := e.troubles[sentinelID]; t != nil {
		return strings.Join(e.where[sentinelID], ", "), t.Problem()
	}
	named := map[string]bool{}
	var answer int
	var wrong *finding.Problem
	for _, s := range e.survey.Sentinels {
		if s.Trouble != nil {
			wrong = cmp.Or(wrong, warning(sentinelID, "the sentinel "+s.Address+" names no master: "+s.Trouble.Error(), s.Trouble.Remedy))
			continue
		}
		answer++
		named[s.Master] = true
		switch {
		case s.NoQuorum != "":
			wrong = cmp.Or(wrong, warning(sentinelID, "no failover could come about: the sentinel "+s.Address+" says "+s.NoQuorum,
				"start the sentinels that are away, or lower the quorum"))
		case strings.Contains(s.Flags, "_down"):
			wrong = cmp.Or(wrong, warning(sentinelID, "the sentinel "+s.Address+" takes the master for down ("+s.Flags+")",
				"see whether it reaches the master; a failover may be under way"))
		case s.Replicas == 0:
			wrong = cmp.Or(wrong, warning(sentinelID, "the master has no replica that could take over", "add a replica"))
		}
	}
	masters := strings.Join(slices.Sorted(maps.Keys(named)), ", ")
	switch {
	case answer == 0:
		return "", stoppedBy(reachID)
	case len(named) > 1:
		return "", warning(sentinelID, "the sentinels name different masters: "+masters,
			"wait if a failover is under way; else see which sentinel is cut off from the others")
	}
	found := fmt.Sprintf("%d of %d sentinels name %s", answer, len(e.survey.Sentinels), masters)
	if wrong != nil {
		return found, wrong
	}
	return found, nil
}

func (e *examination) redisCluster(ctx context.Context) (string, error) {
	found, err := e.begin(ctx, clusterID)
	if u := e.survey.Uncovered; len(u) > 0 && len(e.survey.Nodes) > 0 {
		found = "slots without a master: " + strings.Join(u[:min(5, len(u))], ", ")
	}
	if err != nil {
		return found, err
	}
	return "all slots on " + count(len(e.survey.Nodes), "master"), nil
}

// oldest is the oldest major version of Redis with which the sidecar is tested.
const oldest = 7

func (e *examination) redisVersion(ctx context.Context) (string, error) {
	return e.info(ctx, versionID, func(n redis.NodeSurvey) (string, error) {
		text := "redis " + n.Info["redis_version"]
		if own := n.Info["server_name"]; own != "" && own != "redis" {
			text = own + " " + n.Info[own+"_version"] + ", as " + text
		}
		major, _, _ := strings.Cut(n.Info["redis_version"], ".")
		if v, err := strconv.Atoi(major); err == nil && v < oldest {
			return text, warning(versionID, fmt.Sprintf("%s has %s; the sidecar is tested with redis %d and later", n.Address, text, oldest),
				"update it")
		}
		return text, nil
	})
}

// info makes a check from the reply to INFO of each server that answers.
func (e *examination) info(ctx context.Context, id string, of func(redis.NodeSurvey) (string, error)) (string, error) {
	if found, err := e.begin(ctx, id); err != nil {
		return found, err
	}
	var all []string
	for _, n := range e.up() {
		if n.Info == nil {
			return "", unknown("the user may not run INFO, which tells it")
		}
		found, err := of(n)
		if err != nil {
			return found, err
		}
		if !slices.Contains(all, found) {
			all = append(all, found)
		}
	}
	return strings.Join(all, "; "), nil
}

func (e *examination) redisRole(ctx context.Context) (string, error) {
	return e.info(ctx, roleID, func(n redis.NodeSurvey) (string, error) {
		if n.Info["role"] != "slave" {
			return n.Info["role"], nil
		}
		return "", failure(roleID, n.Address+" is a replica that takes writes; its next synchronisation with its master drops them",
			"name the master in redis.url, and set replica-read-only yes")
	})
}

func (e *examination) redisCommands(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, commandsID); err != nil {
		return found, err
	}
	if err := e.optional("no_command", commandsID); err != nil {
		return "", err
	}
	return "redis knows all that are needed", nil
}

func (e *examination) redisACL(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, aclID); err != nil {
		return found, err
	}
	if err := e.optional("denied", aclID); err != nil {
		return "", err
	}
	return "the user may run all that is needed, on keys and channels of the prefix " + e.config.Redis.Prefix, nil
}

// without describes, for each command that no script needs, what does not work without it.
var without = map[string]string{
	"INFO":      "version, role, memory and eviction policy of Redis stay unknown",
	"PUBLISH":   "pubsub.publish fails, and waiters learn of their turn by polling",
	"SUBSCRIBE": "pubsub.subscribe fails, and waiters learn of their turn by polling",
	"WAIT":      "wait_replicas of lock.acquire fails",
}

// optional warns of commands that no script needs and that Redis refused for the given reason.
func (e *examination) optional(reason, id string) error {
	lost := map[string]bool{}
	var fix string
	for _, n := range e.up() {
		for name, t := range n.Refused {
			if t.Name == reason {
				lost["without "+name+": "+without[name]] = true
				fix = t.Remedy
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return warning(id, strings.Join(slices.Sorted(maps.Keys(lost)), "; "), fix)
}

func (e *examination) redisReplicas(ctx context.Context) (string, error) {
	return e.info(ctx, replicasID, func(n redis.NodeSurvey) (string, error) {
		connected, _ := strconv.Atoi(n.Info["connected_slaves"]) // 0 if absent
		return count(connected, "replica"), nil
	})
}

func (e *examination) redisMemory(ctx context.Context) (string, error) {
	return e.info(ctx, redisMemoryID, func(n redis.NodeSurvey) (string, error) {
		used, _ := strconv.ParseInt(n.Info["used_memory"], 10, 64)
		most, _ := strconv.ParseInt(n.Info["maxmemory"], 10, 64)
		if most == 0 {
			return mebibytes(used) + " in use, no maxmemory", nil
		}
		found := fmt.Sprintf("%s of %s in use", mebibytes(used), mebibytes(most))
		if float64(used) > tight*float64(most) {
			return found, warning(redisMemoryID, n.Address+" has used nearly all of its maxmemory, and takes no writes once it is full",
				"raise maxmemory, or remove what fills it")
		}
		return found, nil
	})
}

func (e *examination) redisEviction(ctx context.Context) (string, error) {
	return e.info(ctx, evictionID, func(n redis.NodeSurvey) (string, error) { return Eviction(n.Info["maxmemory_policy"]) })
}

func (e *examination) redisDisk(ctx context.Context) (string, error) {
	return e.info(ctx, diskID, func(n redis.NodeSurvey) (string, error) {
		for field, what := range map[string]string{"rdb_last_bgsave_status": "snapshot", "aof_last_write_status": "append-only file"} {
			if status := n.Info[field]; status != "" && status != "ok" {
				return "", warning(diskID, n.Address+" could not write its "+what, "free its disk, or make its folder writable; its log says which")
			}
		}
		return "the last writes went well", nil
	})
}

// maxSkew is the difference of clocks above which redis-clock warns. Redis servers decide by their own clocks; people
// and logs use the clock of this machine.
const maxSkew = time.Second

func (e *examination) redisClock(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, clockID); err != nil {
		return found, err
	}
	return clocks(slices.DeleteFunc(e.up(), func(n redis.NodeSurvey) bool { return !n.Clocked }))
}

// clocks compares the clocks of servers with each other and with that of this machine.
func clocks(nodes []redis.NodeSurvey) (string, error) {
	if len(nodes) == 0 {
		return "", unknown("the user may not run TIME")
	}
	bySkew := func(a, b redis.NodeSurvey) int { return cmp.Compare(a.Skew, b.Skew) }
	behind, ahead := slices.MinFunc(nodes, bySkew), slices.MaxFunc(nodes, bySkew)
	const fix = "run a time service (NTP) on "
	if apart := ahead.Skew - behind.Skew; apart > maxSkew {
		return "", warning(clockID, fmt.Sprintf("the clock of %s is %v ahead of that of %s: leases and limits change their length when a slot moves between them",
			ahead.Address, apart.Round(time.Millisecond), behind.Address), fix+"both")
	}
	far := ahead
	if behind.Skew.Abs() > ahead.Skew.Abs() {
		far = behind
	}
	if far.Skew.Abs() < time.Millisecond {
		return "as this machine's", nil
	}
	text := fmt.Sprintf("%v %s this machine's", far.Skew.Abs().Round(time.Millisecond), map[bool]string{true: "ahead of", false: "behind"}[far.Skew >= 0])
	if far.Skew.Abs() > maxSkew {
		return "", warning(clockID, "the clock of "+far.Address+" is "+text+": times in answers, such as a pause's end, are those of Redis",
			fix+"this machine and on that of Redis")
	}
	return text, nil
}

// slow is the round trip above which redis-latency warns: a call takes one, and its target is 10 ms in all.
const slow = 25 * time.Millisecond

// rtt returns the longest round trip to a server.
func (e *examination) rtt() time.Duration {
	var longest time.Duration
	for _, n := range e.up() {
		longest = max(longest, n.RTT)
	}
	return longest.Round(time.Microsecond)
}

func (e *examination) redisLatency(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, latencyID); err != nil {
		return found, err
	}
	return latency(e.rtt())
}

// latency warns of a slow round trip.
func latency(rtt time.Duration) (string, error) {
	found := fmt.Sprintf("round trip %v, the shortest of several", rtt)
	if rtt > slow {
		return found, warning(latencyID, fmt.Sprintf("a round trip to Redis takes %v, and every call makes one", rtt),
			"use a Redis that is nearer; look at its load and at SLOWLOG")
	}
	return found, nil
}

const (
	scanned = 20_000 // the most keys that are looked at
	shown   = 3      // the most keys without a TTL that are named
)

func (e *examination) redisTTL(ctx context.Context) (string, error) {
	if found, err := e.begin(ctx, ttlID); err != nil {
		return found, err
	}
	keys := coord.NewKeys(e.config.Redis.Prefix, e.config.Redis.Tenant)
	all, err := e.store.ScanUntimed(ctx, keys.Pattern("*"), func(key string) bool { return e.lasts(keys, key) }, scanned, shown)
	if err != nil {
		return "", unknown("keys could not be looked at: " + err.Error())
	}
	found := count(all.Looked, "key") + " of ours looked at"
	if !all.Whole {
		found += ", not all"
	}
	if all.Found == 0 {
		return found, nil
	}
	return found, warning(ttlID, fmt.Sprintf("%s of ours without a TTL that should have one: %s", count(all.Found, "key"), strings.Join(all.Keys, ", ")),
		"find what wrote or PERSISTed them, which no sidecar does; EXPIRE or DEL them")
}

// lasts reports whether a key has no TTL by intent.
func (e *examination) lasts(keys coord.Keys, key string) bool {
	_, kind, ok := keys.Split(key)
	return !ok || slices.ContainsFunc(e.o.Lasting, func(s string) bool {
		return kind == s || strings.HasSuffix(s, ":") && strings.HasPrefix(kind, s)
	})
}
