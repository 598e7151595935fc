package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

const (
	socketPath  = "socket.path"
	minIdlePath = "redis.pool.min_idle"
	// MaxSocketPath is the longest path in bytes: sun_path of Linux has 108, the
	// last of them the terminator.
	MaxSocketPath = 107
	maxID         = math.MaxUint32 - 1 // (uid_t)-1 means "none" to the kernel
	maxDuration   = 24 * time.Hour
)

// checker collects what is wrong.
type checker []Problem

func (k *checker) add(path, format string, args ...any) {
	*k = append(*k, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// validate finds every value that cannot be started with.
func validate(c *Config) []Problem {
	var k checker
	k.socket(c.Socket)
	k.address("http.addr", c.HTTP.Addr)
	k.redis(c.Redis)
	k.limits(c.Limits)
	k.oneOf("telemetry.log_level", c.Telemetry.LogLevel, "debug", "info", "warn", "error")
	k.oneOf("telemetry.log_format", c.Telemetry.LogFormat, "auto", "json", "text")
	k.oneOf("readiness.mode", c.Readiness.Mode, ReadinessRedis, ReadinessAlways)
	k.oneOf("rules.precedence", c.Rules.Precedence, PrecedenceFile, PrecedenceRedis)
	return k
}

func (k *checker) socket(s Socket) {
	switch {
	case s.Path == "":
		k.add(socketPath, "is empty; write a path such as %s", DefaultSocket)
	case len(s.Path) > MaxSocketPath:
		k.add(socketPath, "has %d bytes; the operating system takes at most %d: choose a shorter path", len(s.Path), MaxSocketPath)
	case strings.HasPrefix(s.Path, "@"), strings.ContainsRune(s.Path, 0):
		k.add(socketPath, "%q is no file; abstract sockets have no mode to guard them: write a path such as %s", s.Path, DefaultSocket)
	case strings.HasSuffix(s.Path, "/"):
		k.add(socketPath, "%q is a folder; add the file's name, such as sidecar.sock", s.Path)
	}
	if _, err := ParseMode(s.Mode); err != nil {
		k.add("socket.mode", "%v", err)
	}
	between(k, "socket.uid", s.UID, -1, maxID)
	between(k, "socket.gid", s.GID, -1, maxID)
	for i, id := range s.AllowedUIDs {
		between(k, fmt.Sprintf("socket.allowed_uids[%d]", i), id, 0, maxID)
	}
	for i, id := range s.AllowedGIDs {
		between(k, fmt.Sprintf("socket.allowed_gids[%d]", i), id, 0, maxID)
	}
	for i, id := range s.Admin.UIDs {
		between(k, fmt.Sprintf("socket.admin.uids[%d]", i), id, 0, maxID)
	}
	between(k, "socket.write_timeout", s.WriteTimeout, 10*time.Millisecond, maxDuration)
}

// ParseMode reads socket.mode: permission bits in octal, with or without a
// leading 0 or 0o. The owner must be able to connect, since the sidecar checks
// its own socket.
func ParseMode(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not an octal mode; write one such as 0660", text)
	case n > 0o777:
		return 0, fmt.Errorf("%q has more than permission bits; write one such as 0660", text)
	case n&0o600 != 0o600:
		return 0, fmt.Errorf("%q keeps the sidecar from its own socket; let the owner read and write, such as 0660", text)
	}
	return fs.FileMode(n), nil
}

func (k *checker) address(path, addr string) {
	if addr == "" {
		return
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		k.add(path, "%q is not host:port; write one such as :8086 or 127.0.0.1:8086", addr)
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65_535 {
		k.add(path, "%q is not a port; write a number from 0 (any free port) to 65535", port)
	}
}

// name is what a prefix and a tenant are made of: nothing that Redis Cluster
// reads as a hash tag, nothing that splits a key, and no pattern of SCAN or ACLs.
var name = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (k *checker) redis(r Redis) {
	if problem := redisURL(r.URL); problem != "" {
		k.add("redis.url", "%s", problem)
	}
	k.redisLogin(r)
	k.redisTLS(r)
	if !name.MatchString(r.Prefix) {
		k.add("redis.prefix", "%q cannot start a key; use 1 to 64 letters, digits, dots, dashes or underscores", r.Prefix)
	}
	if r.Tenant != "" && !name.MatchString(r.Tenant) {
		k.add("redis.tenant", "%q cannot be part of a key; use 1 to 64 letters, digits, dots, dashes or underscores, or leave it empty", r.Tenant)
	}
	between(k, "redis.pool.max", r.Pool.Max, 1, 10_000)
	if r.Pool.MinIdle < 1 || r.Pool.MinIdle > r.Pool.Max {
		k.add(minIdlePath, "%d is out of range; write 1 to %d, which is redis.pool.max", r.Pool.MinIdle, r.Pool.Max)
	}
	between(k, "redis.pool.dial_timeout", r.Pool.DialTimeout, time.Millisecond, time.Minute)
	between(k, "redis.pool.command_timeout", r.Pool.CommandTimeout, time.Millisecond, time.Minute)
}

// redisURL says what is wrong with the address. It never quotes it: net/url's
// own errors would show the password.
func redisURL(text string) string {
	const remedy = "write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, " +
		"redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development"
	if text == "embedded" {
		return ""
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, _, _ = strings.Cut(text, ":")
	}
	kind := strings.Replace(scheme, "rediss", "redis", 1)
	switch kind {
	case "redis", "unix", "redis+sentinel", "redis+cluster":
	default:
		if strings.Contains(scheme, "@") {
			return "is not a URL; " + remedy
		}
		return fmt.Sprintf("starts with %q; %s", scheme, remedy)
	}
	// A list of hosts is no authority that package url reads.
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	hosts := authority[strings.LastIndexByte(authority, '@')+1:]
	u, err := url.Parse("x://" + strings.TrimSuffix(authority, hosts) + "h" + path)
	if err != nil {
		return "is not a URL (percent-escape what is special in the password); " + remedy
	}
	if kind == "unix" {
		return redisSocket(hosts, u, remedy)
	}
	switch {
	case u.RawQuery != "" || u.Fragment != "":
		return "has options after ? or #, which are not read; " + remedy
	case kind == "redis" && strings.Contains(hosts, ","):
		return "has several hosts, which are a cluster or sentinels; " + remedy
	}
	if problem := redisHosts(hosts, remedy); problem != "" {
		return problem
	}
	db := strings.Trim(u.Path, "/")
	switch kind {
	case "redis+cluster":
		if db != "" {
			return "has a path; a cluster has one database only: write redis+cluster://host:6379,host:6379"
		}
	case "redis+sentinel":
		var master string
		if master, db, _ = strings.Cut(db, "/"); master == "" {
			return "lacks the name by which the sentinels know the master; write redis+sentinel://host:26379,host:26379/master"
		}
	}
	return redisDatabase(db)
}

func redisHosts(list, remedy string) string {
	for h := range strings.SplitSeq(list, ",") {
		u, err := url.Parse("x://" + h)
		switch {
		case err != nil:
			return "is not a URL (percent-escape what is special in the password); " + remedy
		case u.Hostname() == "":
			return "names no host; " + remedy
		case u.Port() != "" && !isPort(u.Port()):
			return fmt.Sprintf("has port %s; write one from 1 to 65535", u.Port())
		}
	}
	return ""
}

func redisSocket(host string, u *url.URL, remedy string) string {
	query := u.Query()
	db := query.Get("db")
	query.Del("db")
	switch {
	case host != "" || strings.Trim(u.Path, "/") == "":
		return "names no socket; write its absolute path, such as unix:///run/redis.sock?db=0"
	case len(query) > 0 || u.Fragment != "":
		return "has other options than db, which are not read; " + remedy
	}
	return redisDatabase(db)
}

func redisDatabase(db string) string {
	if db == "" {
		return ""
	}
	if n, err := strconv.Atoi(db); err != nil || n < 0 {
		return fmt.Sprintf("has database %q; write a number, such as redis://host:6379/0", db)
	}
	return ""
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65_535
}

func (k *checker) limits(l Limits) {
	between(k, "limits.max_frame_bytes", l.MaxFrameBytes, 1<<10, 64<<20)
	between(k, "limits.max_depth", l.MaxDepth, 4, 64)
	between(k, "limits.max_elements", l.MaxElements, 64, 1<<20)
	between(k, "limits.max_inflight", l.MaxInflight, 1, 65_536)
	between(k, "limits.max_waiting", l.MaxWaiting, 1, 65_536)
	between(k, "limits.max_connections", l.MaxConnections, 1, 65_536)
	between(k, "limits.shutdown_grace", l.ShutdownGrace, 0, time.Hour)
}

// between asks for a value within bounds, both of them allowed.
func between[T cmp.Ordered](k *checker, path string, v, low, high T) {
	if v < low || v > high {
		k.add(path, "%v is out of range; write %v to %v", v, low, high)
	}
}

func (k *checker) oneOf(path, v string, allowed ...string) {
	if slices.Contains(allowed, v) {
		return
	}
	remedy := "write " + strings.Join(allowed[:len(allowed)-1], ", ") + " or " + allowed[len(allowed)-1]
	if meant, ok := nearest.Name(v, allowed); ok {
		remedy = "did you mean " + meant + "?"
	}
	k.add(path, "%q is unknown; %s", v, remedy)
}
