// Package config reads the configuration: a strict YAML file, then the variables
// COXSWAIN_*, then flags. Each overrides the one before.
//
// Its invariant: every mistake is reported, with its field, its line and the
// remedy; a sidecar can start with any Config that was returned without an error.
package config

import (
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// Config is the file, key by key.
type Config struct {
	Socket    Socket    `yaml:"socket"`
	HTTP      HTTP      `yaml:"http"`
	Redis     Redis     `yaml:"redis"`
	Limits    Limits    `yaml:"limits"`
	Runtime   Runtime   `yaml:"runtime"`
	Telemetry Telemetry `yaml:"telemetry"`
	Readiness Readiness `yaml:"readiness"`
	Rules     Rules     `yaml:"rules"`
	Breakers  Breakers  `yaml:"breakers"`
	Streams   Streams   `yaml:"streams"`

	file     string
	lines    map[string]int    // the line of each field in its file, by path
	from     map[string]string // the variable or flag that set a path after the file
	own      int               // how many of Rules.Items are from the file itself
	imported []imported        // the origin of the other items, in their order
	modified time.Time
}

// File is the file that was read, empty when there was none.
func (c *Config) File() string { return c.file }

// Modified is the latest modification time of the files that were read, zero when
// there were none.
func (c *Config) Modified() time.Time { return c.modified }

// Line returns the line of the field with this path, such as
// rules.items[2].limits[0].period_ms, in its file. If the file lacks the field, it
// is the line of the nearest section or item around it; 0 when there is none.
func (c *Config) Line(path string) int {
	for path != "" {
		if line, ok := c.lines[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// Socket configures the socket to which clients connect.
type Socket struct {
	Path         string        `yaml:"path"` // /run/coxswain/sidecar.sock
	Mode         string        `yaml:"mode"` // octal, "0660"
	UID          int           `yaml:"uid"`  // -1 = the owner is not changed
	GID          int           `yaml:"gid"`
	AllowedUIDs  []int         `yaml:"allowed_uids"`
	AllowedGIDs  []int         `yaml:"allowed_gids"`
	Admin        Admin         `yaml:"admin"`
	WriteTimeout time.Duration `yaml:"write_timeout"` // 5s; how long a client may leave replies unread
}

// Admin sets which users may call admin methods; an empty UIDs allows all.
type Admin struct {
	Enabled bool  `yaml:"enabled"`
	UIDs    []int `yaml:"uids"`
}

// HTTP has the addresses of the port for health and metrics and of the port for the status page; an empty one is
// not opened.
type HTTP struct {
	Addr       string `yaml:"addr"`        // :8086
	StatusAddr string `yaml:"status_addr"` // an IP address of the loopback, such as 127.0.0.1:8087
}

// Redis is the shared store.
type Redis struct {
	URL          string `yaml:"url"`
	Username     string `yaml:"username"`      // of an ACL user, when URL names none
	PasswordFile string `yaml:"password_file"` // holds the password, when URL has none
	Sentinel     Login  `yaml:"sentinel"`
	TLS          TLS    `yaml:"tls"`
	Prefix       string `yaml:"prefix"` // coxswain
	Tenant       string `yaml:"tenant"`
	Pool         Pool   `yaml:"pool"`
}

// Login is the user and password for the sentinels, if they differ from those for the
// servers. The password is either in Password or in the file PasswordFile.
type Login struct {
	Username     string `yaml:"username"`
	Password     string `yaml:"password"`
	PasswordFile string `yaml:"password_file"`
}

// TLS are the files of connections to Redis over TLS, each an absolute path; an
// empty CAFile means the system's authorities.
type TLS struct {
	CAFile     string `yaml:"ca_file"`
	CertFile   string `yaml:"cert_file"` // for mTLS, with KeyFile
	KeyFile    string `yaml:"key_file"`
	ServerName string `yaml:"server_name"` // empty = the host of the address
}

// Pool bounds the connections to Redis.
type Pool struct {
	MinIdle        int           `yaml:"min_idle"`
	Max            int           `yaml:"max"`
	DialTimeout    time.Duration `yaml:"dial_timeout"`
	CommandTimeout time.Duration `yaml:"command_timeout"`
}

// Limits bound a client connection, all of them together and the shutdown.
type Limits struct {
	MaxFrameBytes  int64 `yaml:"max_frame_bytes"`
	MaxDepth       int64 `yaml:"max_depth"`
	MaxElements    int64 `yaml:"max_elements"`
	MaxInflight    int64 `yaml:"max_inflight"`
	MaxWaiting     int64 `yaml:"max_waiting"`
	MaxConnections int64 `yaml:"max_connections"`
	// The next two apply to all connections together; 0 = the sidecar sets them by the
	// memory limit of its process.
	MaxTotalBytes   int64         `yaml:"max_total_bytes"`
	MaxTotalWaiting int64         `yaml:"max_total_waiting"`
	ShutdownGrace   time.Duration `yaml:"shutdown_grace"`
}

// Runtime sets how much of the machine the Go runtime uses.
type Runtime struct {
	// Procs is how many threads run Go code at once: a number, or auto, which starts with 1
	// and adapts to the load, up to the CPU limit.
	Procs string `yaml:"procs"` // auto
}

// ProcsAuto is the value of runtime.procs with which the number adapts to the load.
const ProcsAuto = "auto"

// Telemetry sets the level and the format of the log, and whether spans and the log may have names and keys.
type Telemetry struct {
	LogLevel   string `yaml:"log_level"`  // debug, info, warn, error
	LogFormat  string `yaml:"log_format"` // auto (text on a terminal, else JSON), json, text
	RecordKeys bool   `yaml:"record_keys"`
}

// Readiness sets what /readyz reports.
type Readiness struct {
	Mode string `yaml:"mode"` // redis, always
}

// The modes of readiness.
const (
	ReadinessRedis  = "redis"  // not ready while Redis cannot be reached
	ReadinessAlways = "always" // ready, and degraded, while Redis cannot be reached
)

// Streams identifies this pod in the groups of streams.
type Streams struct {
	// Consumer is the pod's name as a consumer. It must be unique among pods and stay the
	// same over restarts; empty = the name of the host.
	Consumer string `yaml:"consumer"`
}

// MaxConsumer is the longest name of a consumer in bytes, which is the longest name of a pod in Kubernetes.
const MaxConsumer = 253

// Rules are the named limits. In a loaded Config, Items has the rules of Files too,
// after those of the file itself.
type Rules struct {
	// Precedence is file or redis: which rule is in force if two have the same name.
	Precedence string     `yaml:"precedence"`
	Files      []string   `yaml:"files"`
	Items      []api.Rule `yaml:"items"`
}

// The values of rules.precedence.
const (
	PrecedenceFile  = "file"  // the rule of a file
	PrecedenceRedis = "redis" // the rule that ratelimit.put_rule put
)
