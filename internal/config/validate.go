package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/coxswain-sidecar/coxswain/internal/nearest"
	"github.com/coxswain-sidecar/coxswain/internal/redisurl"
)

const (
	socketPath  = "socket.path"
	minIdlePath = "redis.pool.min_idle"
	// MaxSocketPath is the longest path in bytes: sun_path of Linux has 108, and the
	// last is the terminator.
	MaxSocketPath = 107
	maxID         = math.MaxUint32 - 1 // (uid_t)-1 means "none" to the kernel
	maxDuration   = 24 * time.Hour
	maxProcs      = 1024
)

// checker collects problems.
type checker []Problem

func (k *checker) add(path, format string, args ...any) {
	*k = append(*k, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// validate finds every value with which the sidecar cannot start.
func validate(c *Config) []Problem {
	var k checker
	k.socket(c.Socket)
	k.address("http.addr", c.HTTP.Addr, ":8086 or 127.0.0.1:8086")
	k.loopback("http.status_addr", c.HTTP.StatusAddr)
	k.redis(c.Redis)
	k.limits(c.Limits)
	if n, err := strconv.Atoi(c.Runtime.Procs); c.Runtime.Procs != ProcsAuto && (err != nil || n < 1 || n > maxProcs) {
		k.add("runtime.procs", "%q is no number of threads; write auto, or a number from 1 to %d", c.Runtime.Procs, maxProcs)
	}
	k.oneOf("telemetry.log_level", c.Telemetry.LogLevel, "debug", "info", "warn", "error")
	k.oneOf("telemetry.log_format", c.Telemetry.LogFormat, "auto", "json", "text")
	k.oneOf("readiness.mode", c.Readiness.Mode, ReadinessRedis, ReadinessAlways)
	if n := len(c.Streams.Consumer); n > MaxConsumer {
		k.add("streams.consumer", "has %d bytes; write a name of at most %d, which no other pod has", n, MaxConsumer)
	}
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
	case strings.Contains(s.Path, "://"):
		k.add(socketPath, "%q is a URL; write the path alone, such as %s", s.Path, DefaultSocket)
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

func (k *checker) address(path, addr, examples string) {
	if addr == "" {
		return
	}
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil || strings.ContainsFunc(host, unicode.IsSpace) || strings.ContainsAny(host, "/@"):
		k.add(path, "%q is not host:port; write one such as %s", addr, examples)
		return
	case strings.Contains(host, "%25"):
		k.add(path, "%q is no URL; write the zone of an IPv6 address as it is, such as [fe80::1%%eth0]:8086", addr)
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65_535 {
		k.add(path, "%q is not a port; write a number from 0 (any free port) to 65535", port)
	}
}

// loopback checks that only this machine, or the containers of the same pod, can reach an address. It refuses
// names, since DNS may resolve them to any address.
func (k *checker) loopback(path, addr string) {
	before := len(*k)
	if k.address(path, addr, "127.0.0.1:8087"); addr == "" || len(*k) > before {
		return
	}
	host, port, _ := net.SplitHostPort(addr) // address has checked it
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		k.add(path, "%q is no IP address of the loopback; the status page is for this machine alone: write 127.0.0.1:%s, "+
			"and reach it by kubectl port-forward or ssh -L", addr, port)
	}
}

// name matches a valid prefix or tenant: it has no characters of a hash tag of Redis
// Cluster, of a separator in keys, or of a pattern of SCAN or ACLs.
var name = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (k *checker) redis(r Redis) {
	u, err := redisurl.Parse(r.URL)
	if err != nil {
		k.add("redis.url", "%v", err)
	} else {
		k.redisLogin(r, u)
		k.sentinelLogin(r.Sentinel, u)
		k.redisTLS(r.TLS, u)
	}
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

func (k *checker) limits(l Limits) {
	between(k, "limits.max_frame_bytes", l.MaxFrameBytes, 1<<10, 64<<20)
	between(k, "limits.max_depth", l.MaxDepth, 4, 64)
	between(k, "limits.max_elements", l.MaxElements, 64, 1<<20)
	between(k, "limits.max_inflight", l.MaxInflight, 1, 65_536)
	between(k, "limits.max_waiting", l.MaxWaiting, 1, 65_536)
	between(k, "limits.max_connections", l.MaxConnections, 1, 65_536)
	if l.MaxTotalBytes != 0 {
		// Half is for buffers, half for calls, whose params are in memory twice: a frame
		// of the greatest length has to fit in each half.
		between(k, "limits.max_total_bytes", l.MaxTotalBytes, TotalBytesFor(l.MaxFrameBytes), 1<<40)
	}
	between(k, "limits.max_total_waiting", l.MaxTotalWaiting, 0, 1<<20)
	between(k, "limits.shutdown_grace", l.ShutdownGrace, 0, time.Hour)
}

// TotalBytesFor returns the smallest limits.max_total_bytes with which a frame of the
// greatest length can be read and carried out.
func TotalBytesFor(maxFrameBytes int64) int64 { return 5 * maxFrameBytes }

// between requires a value from low to high, both included.
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
