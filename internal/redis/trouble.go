package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// Trouble is something that is wrong with Redis or with the connection to it. Only this
// file makes them, so that log, health, metrics and errors have one name for one thing.
type Trouble struct {
	// Name is a short word for metrics that never changes: oom, readonly, refused.
	Name string
	// Check is the check of sidecar doctor that finds it, whose section in docs/doctor.md explains it.
	Check string
	// Words is a description for people, Remedy is what to do. Neither contains an
	// address, a user or a password: both may be sent to callers.
	Words, Remedy string
	// Err is the error itself. It may contain addresses and is for logs and health pages.
	Err error

	// commands are those that the user may not run, in capitals.
	commands []string
}

// Error implements error, for logs.
func (t *Trouble) Error() string {
	if t.Err == nil {
		return t.Words
	}
	return t.Words + " (" + t.Err.Error() + ")"
}

// Unwrap returns Err.
func (t *Trouble) Unwrap() error { return t.Err }

// Problem returns the trouble in the form in which checks report problems.
func (t *Trouble) Problem() *finding.Problem {
	return &finding.Problem{ID: t.Check, Cause: t.Error(), Fix: t.Remedy, Err: t}
}

// Names of troubles that other files ask about.
const (
	whyNoScript  = "noscript"
	whyMoved     = "moved" // the slot has another master
	whyAsk       = "ask"   // the key has moved, but not yet the whole slot
	whyBehind    = "order" // the call ahead of it failed and may be tried again
	whyDenied    = "denied"
	whyNoCommand = "no_command"
	whyCluster   = "clusterdown"
	whyWrongURL  = "cluster_url"
	whyNoMaster  = "no_master"
	whyBusy      = "busy"
	whyNoRoom    = "maxclients"
	whyAuth      = "auth"
	whyFile      = "file"
	whySilent    = "silent"
	whyCrossSlot = "crossslot" // keys of several slots in one command
)

// known describes a kind of trouble: the check of sidecar doctor that finds it, its words, its remedy, and how the
// transport reacts.
type known struct {
	check, words, remedy string
	// refuses is set if Redis replies and refuses. To wait may help, to try more often does not.
	refuses bool
	// suspect is set if a probe has to run at once, since all calls may fail.
	suspect bool
}

const page = "docs/redis.md, Access, has the ACL rule for the user"

// troubles are all kinds of trouble, by name.
var troubles = map[string]known{
	"oom": {
		"redis-memory", "redis is out of memory and accepts no writes (OOM)",
		"raise maxmemory, or delete the keys that fill it; keep maxmemory-policy noeviction", true, true,
	},
	"readonly": {
		"redis-role", "redis is read only (READONLY)",
		"set redis.url to the master, or let Sentinels or the cluster name it: redis+sentinel://, redis+cluster://", true, true,
	},
	"noreplicas": {
		"redis-replicas", "redis accepts no writes, since too few replicas follow it (NOREPLICAS)",
		"start the replicas, or lower min-replicas-to-write", true, true,
	},
	"misconf": {
		"redis-disk", "redis accepts no writes, since it cannot save to its disk (MISCONF)",
		"free space on the disk, or make its directory writable; the log of Redis has the reason", true, true,
	},
	whyCluster: {
		"redis-cluster", "the redis cluster serves no key of this slot (CLUSTERDOWN)",
		"start the masters that are down; with cluster-require-full-coverage no the others go on serving their slots", true, true,
	},
	whyBusy: {
		"redis-reach", "redis runs a script that does not end (BUSY)",
		"SCRIPT KILL or FUNCTION KILL on Redis ends it; find the client that runs it", true, true,
	},
	"loading": {
		"redis-reach", "redis is loading its data (LOADING)",
		"wait until it has loaded them", true, true,
	},
	"masterdown": {
		"redis-role", "redis is a replica that has lost its master (MASTERDOWN)",
		"start the master, or set redis.url to it", true, true,
	},
	whyNoRoom: {
		"redis-reach", "redis accepts no more clients (maxclients)",
		"raise maxclients of Redis, or lower redis.pool.max", true, true,
	},
	whyAuth: {
		"redis-login", "redis refuses the user or the password (NOAUTH, WRONGPASS)",
		"correct redis.username and redis.password_file, or those of redis.url", true, true,
	},
	whyDenied: {
		"redis-acl", "redis denies the sidecar's user a command, a key or a channel (NOPERM)",
		page, true, true,
	},
	whyNoCommand: {
		"redis-commands", "redis does not know a command that the sidecar needs",
		"remove its rename-command line from redis.conf if there is one; " + page, true, true,
	},
	"no_database": {
		"redis-topology", "redis has no such database",
		"correct the number in redis.url, or raise databases of Redis; a cluster has only database 0", true, true,
	},
	"protected": {
		"redis-login", "redis is in protected mode and refuses connections from other machines (DENIED)",
		"set a password for its user, or bind it to an address", true, true,
	},
	"standalone": {
		"redis-topology", "redis is not a cluster",
		"write redis:// in redis.url, or rediss:// with TLS", true, true,
	},
	whyWrongURL: {
		"redis-topology", "redis is a node of a cluster",
		"write redis+cluster:// in redis.url, or rediss+cluster:// with TLS", true, true,
	},

	"tls": {
		"redis-tls", "the TLS handshake with redis fails",
		"if it speaks no TLS, write redis:// for rediss:// in redis.url; if it asks for a certificate, " +
			"name one in redis.tls.cert_file and its key in redis.tls.key_file; else see the log of Redis", false, true,
	},
	"certificate": {
		"redis-tls", "the certificate of redis is not trusted",
		"set redis.tls.ca_file to the certificate of its authority, and redis.tls.server_name to the name in it", false, true,
	},
	whyFile: {
		"redis-files", "a file for the connection to redis cannot be used",
		"correct redis.tls.ca_file, redis.tls.cert_file, redis.tls.key_file or redis.password_file", false, true,
	},
	"hung_up": {
		"redis-tls", "redis closes new connections without a reply",
		"if it speaks TLS, write rediss:// for redis:// in redis.url; else see the log of Redis", false, true,
	},
	whySilent: {
		"redis-reach", "redis accepts connections and does not reply",
		"check whether it is stopped, or busy with one slow command (SLOWLOG)", false, true,
	},
	"refused": {
		"redis-reach", "redis cannot be reached, since nothing listens at its address",
		"check redis.url and that Redis runs", false, true,
	},
	"unreachable": {
		"redis-reach", "redis cannot be reached",
		"check redis.url, and the network and its policies", false, true,
	},
	"no_such_host": {
		"redis-name", "redis cannot be reached, since its host name has no address",
		"check the name in redis.url", false, true,
	},
	"lost": {
		"redis-reach", "the connection to redis was lost",
		"check whether Redis was restarted, or whether something on the network path closes connections", false, true,
	},
	whyNoMaster: {
		"redis-sentinel", "no master of redis is known",
		"check whether the Sentinels or the nodes of the cluster agree on one", false, true,
	},

	"tryagain": {
		"redis-cluster", "redis is moving the keys between nodes (TRYAGAIN)",
		"wait until the slot has moved", false, false,
	},
	whyNoScript: {
		"redis-commands", "redis loses scripts as fast as they are loaded (NOSCRIPT)",
		"find the client that calls SCRIPT FLUSH", false, false,
	},
	whyMoved: {
		"redis-cluster", "the nodes of the redis cluster do not agree on the master of the slot (MOVED)",
		"compare CLUSTER NODES of all nodes", false, false,
	},
	whyAsk: {
		"redis-cluster", "redis is moving the keys between nodes (ASK)",
		"wait until the slot has moved", false, false,
	},
	whyCrossSlot: {
		"redis-cluster", "redis accepts only keys of one slot in a script (CROSSSLOT)",
		"nothing: from now on calls with keys of different slots are sent in separate scripts", false, false,
	},
	"pool": {
		"redis-latency", "all connections to redis are in use",
		"raise redis.pool.max, or find out why scripts are slow", false, false,
	},
	"abandoned": {
		"redis-latency", "redis did not answer in time",
		"look at SLOWLOG, or raise the deadline of calls", false, false,
	},
	whyBehind: {
		"redis-latency", "an earlier call of the same connection for the same name has not ended",
		"raise the deadline of calls", false, false,
	},
	"closed": {
		"redis-reach", "the connection to redis was closed by its owner",
		"call another sidecar", false, false,
	},
}

// bySentinels are the words and remedies for refusals of a sentinel, which has users
// and a configuration of its own.
var bySentinels = map[string]known{
	whyAuth: {
		check:  "redis-sentinel-login",
		words:  "a sentinel of redis refuses the user or the password (NOAUTH, WRONGPASS)",
		remedy: "correct redis.sentinel.username and redis.sentinel.password_file; without them the login of the servers is used",
	},
	whyDenied: {
		check:  "redis-sentinel",
		words:  "a sentinel of redis does not allow its user to ask for the master (NOPERM)",
		remedy: "grant the user of redis.sentinel.username +sentinel|get-master-addr-by-name there",
	},
	whyNoCommand: {
		check:  "redis-sentinel",
		words:  "a sentinel of redis does not know the command that asks for the master",
		remedy: "name sentinels in redis.url, and not servers; remove the rename-command line of SENTINEL if there is one",
	},
	whyFile: {
		check:  "redis-files",
		words:  "a file for the connection to the sentinels of redis cannot be used",
		remedy: "correct redis.sentinel.password_file, or the files of redis.tls",
	},
}

// newTrouble makes the trouble of a name. For an unknown name only the error describes it.
func newTrouble(name string, err error) *Trouble {
	k, ok := troubles[name]
	if !ok {
		k = known{check: "redis-reach", words: "redis cannot be used", remedy: "see the error in the log"}
	}
	t := &Trouble{Name: name, Check: k.check, Words: k.words, Remedy: k.remedy, Err: err}
	var at *atSentinel
	switch {
	case err == nil:
		return t
	case errors.As(err, &at):
		if k, ok := bySentinels[name]; ok {
			t.Check, t.Words, t.Remedy = k.check, k.words, k.remedy
		}
		return t
	}
	if m := quoted.FindStringSubmatch(err.Error()); m != nil && (name == whyDenied || name == whyNoCommand) {
		t.Words = refusedCommands(name, strings.ToUpper(m[1]))
	}
	return t
}

// quoted matches the command that Redis names in a refusal.
var quoted = regexp.MustCompile("(?:run the |unknown command )['`]([A-Za-z|_-]+)['`]")

// refusedCommands returns the Words of a trouble about commands that Redis refuses.
func refusedCommands(name, list string) string {
	if name == whyDenied {
		return "redis denies the sidecar's user " + list + " (NOPERM)"
	}
	return "redis does not know " + list
}

// troubleOf returns the trouble of any error of this package.
func troubleOf(err error) *Trouble {
	f := classify(err)
	f.Err = err
	if f.Verdict == Ended && errors.Is(err, context.DeadlineExceeded) {
		f.Why = whySilent // not a dial: that has a shorter time limit, with an error of its own
	}
	return f.trouble()
}

// TroubleOf returns the trouble of an error of package net, or of a file, while connecting
// to Redis.
func TroubleOf(err error) *Trouble { return troubleOf(err) }

// denied returns the trouble of commands that the user may not run, or that the server does
// not know.
func denied(name string, commands []string) *Trouble {
	t := newTrouble(name, nil)
	t.commands, t.Words = commands, refusedCommands(name, strings.Join(commands, ", "))
	return t
}

// replyCodes maps the codes of refusals to the names of their troubles. Inside a script
// the first four come from the first command that writes, since Redis does not refuse
// later writes of the script. So nothing was changed in that case either.
var replyCodes = map[string]string{
	"OOM": "oom", "READONLY": "readonly", "NOREPLICAS": "noreplicas", "MISCONF": "misconf",
	"LOADING": "loading", "CLUSTERDOWN": whyCluster, "TRYAGAIN": "tryagain",
	"MASTERDOWN": "masterdown", "CROSSSLOT": whyCrossSlot, "NOSCRIPT": whyNoScript, "BUSY": whyBusy,
	"NOAUTH": whyAuth, "WRONGPASS": whyAuth, "MOVED": whyMoved, "ASK": whyAsk,
	"NOPERM": whyDenied, "DENIED": "protected",
}

// phrases are the beginnings of refusals that have no code of their own.
var phrases = []struct{ begin, name string }{
	{"ERR max number of clients", whyNoRoom},
	{"ERR unknown command", whyNoCommand},
	{"ERR Unknown Redis command", whyNoCommand},
	{"ERR unknown subcommand", whyNoCommand},
	{"ERR Unknown subcommand", whyNoCommand},
	{"ERR The user executing the script", whyDenied},
	{"ERR DB index is out of range", "no_database"},
	{"ERR invalid DB index", "no_database"},
	{"ERR SELECT is not allowed in cluster mode", "no_database"},
	{"ERR This instance has cluster support disabled", "standalone"},
	{"ERR Cluster setting is not enabled", "standalone"},
	{"ERR AUTH <password> called without any password", whyAuth},
	{"ERR Client sent AUTH, but no password is set", whyAuth},
}

// nameOfReply returns the name of the trouble in an error reply; empty for a fault of the
// script.
func nameOfReply(reply redis.Error) string {
	text := reply.Error()
	code, _, _ := strings.Cut(text, " ")
	if name, ok := replyCodes[code]; ok {
		return name
	}
	for _, p := range phrases {
		if strings.HasPrefix(text, p.begin) {
			return p.name
		}
	}
	return ""
}

// insideScript reports whether a command inside a script was refused, and not the
// script as a whole. What the script wrote before that command stays.
func insideScript(reply redis.Error) bool {
	if _, item := reply.(itemError); item {
		return true
	}
	return strings.Contains(reply.Error(), "@user_script")
}

// tlsFailed is the error of a TLS handshake.
type tlsFailed struct{ err error }

func (f *tlsFailed) Error() string { return fmt.Sprintf("tls: %v", f.err) }
func (f *tlsFailed) Unwrap() error { return f.err }

// nameOfStep returns the name of the trouble with a connection, by the step that failed.
func nameOfStep(step string, err error) string {
	var shake *tlsFailed
	var host *net.DNSError
	var op *net.OpError
	var wait interface{ Timeout() bool }
	var file *fs.PathError
	switch {
	case untrusted(err):
		return "certificate"
	case errors.As(err, &shake), isAlert(err):
		return "tls"
	case errors.As(err, &file) && !errors.As(err, &op):
		return whyFile
	case errors.As(err, &host):
		return "no_such_host"
	case errors.Is(err, syscall.ECONNREFUSED), step == "dial" && errors.Is(err, fs.ErrNotExist):
		return "refused"
	case errors.As(err, &wait) && wait.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		if step == "dial" {
			return "unreachable"
		}
		return whySilent
	case step == "dial":
		if errors.As(err, &op) {
			return "unreachable"
		}
		return whyFile
	case step == "setup":
		return "hung_up"
	}
	return "lost"
}

// untrusted reports whether the server's certificate was not accepted.
func untrusted(err error) bool {
	var seen *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &seen) || errors.As(err, &authority) || errors.As(err, &name)
}

// isAlert reports whether the server ended TLS with an alert. A server that requires a
// certificate of the client and got none sends the alert after the handshake.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
