package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// mistakes has files with one mistake each, and the whole text of the error, since
// an operator has to understand it in the middle of an incident.
var mistakes = []struct{ name, yaml, want string }{
	{"unknown key", "redis:\n  pol: 5\n", `
c.yaml:2: redis.pol: unknown key; did you mean pool?
      2 |   pol: 5`},
	{"unknown key like no other", "socket:\n  colour: red\n", `
c.yaml:2: socket.colour: unknown key; known here: path, mode, uid, gid, allowed_uids, allowed_gids, admin, write_timeout
      2 |   colour: red`},
	{"unknown section", "rediss: {}\n", `
c.yaml:1: rediss: unknown key; did you mean redis?
      1 | rediss: {}`},
	{"unknown key in a list", "rules:\n  items:\n    - nam: a\n", `
c.yaml:3: rules.items[0].nam: unknown key; did you mean name?
      3 |     - nam: a`},
	{"unknown key of an override", "rules:\n  items:\n    - overrides:\n        - exact: a\n          limit: 5\n", `
c.yaml:5: rules.items[0].overrides[0].limit: unknown key; did you mean limits?
      5 |           limit: 5`},
	{"unknown key of a penalty", "rules:\n  items:\n    - penalty:\n        base: 5s\n", `
c.yaml:4: rules.items[0].penalty.base: unknown key; known here: codes, base_ms, max_ms, forgive_ms, jitter_percent
      4 |         base: 5s`},
	{"value for a penalty", "rules:\n  items:\n    - penalty: 429\n", `
c.yaml:3: rules.items[0].penalty: this is a single value; write the keys of the section below it: codes, base_ms, max_ms, forgive_ms, jitter_percent
      3 |     - penalty: 429`},
	{"no number in a nested list", "rules:\n  items:\n    - penalty:\n        codes:\n          - 429\n          - many\n", `
c.yaml:6: rules.items[0].penalty.codes[1]: "many" is not a whole number; write it in decimal digits, such as 10
      6 |           - many`},
	{"fraction of a percent", "rules:\n  items:\n    - penalty: {jitter_percent: 0.1}\n", `
c.yaml:3: rules.items[0].penalty.jitter_percent: "0.1" is not a whole number; write it in decimal digits, such as 10
      3 |     - penalty: {jitter_percent: 0.1}`},
	{"text for a match", "rules:\n  items:\n    - allow:\n        - example.com\n", `
c.yaml:4: rules.items[0].allow[0]: this is a single value; write the keys of the section below it: exact, glob, suffix
      4 |         - example.com`},
	{"nested band", "rules:\n  items:\n    - overrides:\n        - limits:\n            - limit: x\n", `
c.yaml:5: rules.items[0].overrides[0].limits[0].limit: "x" is not a whole number; write it in decimal digits, such as 10
      5 |             - limit: x`},
	{"precedence", "rules:\n  precedence: files\n", `
c.yaml:2: rules.precedence: "files" is unknown; did you mean file?
      2 |   precedence: files`},
	{"key twice", "redis:\n  url: embedded\n  url: embedded\n", `
c.yaml:3: not YAML: mapping key "url" already defined at [2:3]
      3 |   url: embedded`},
	{"tab", "redis:\n\turl: embedded\n", `
c.yaml:2: not YAML: found character '	' that cannot start any token
      2 | 	url: embedded`},
	{"two documents", "http: {addr: ''}\n---\nredis: {url: embedded}\n", `
c.yaml:3: a second document starts here; keep one, without --- between sections
      3 | redis: {url: embedded}`},
	{"not a mapping", "- a\n", `
c.yaml:1: this is a list; write the keys of the section below it: socket, http, redis, limits, runtime, telemetry, readiness, rules, breakers, streams
      1 | - a`},
	{"value for a section", "redis:\n  pool: 7\n", `
c.yaml:2: redis.pool: this is a single value; write the keys of the section below it: min_idle, max, dial_timeout, command_timeout
      2 |   pool: 7`},
	{"section for a value", "redis:\n  url: {host: a}\n", `
c.yaml:2: redis.url: this is a section; write a single value
      2 |   url: {host: a}`},
	{"section for a list", "rules:\n  items: {a: b}\n", `
c.yaml:2: rules.items: this is a section; write a list, one item a line, each after a dash
      2 |   items: {a: b}`},
	{"value for a list", "socket:\n  allowed_uids: 5\n", `
c.yaml:2: socket.allowed_uids: this is a single value; write a list, one item a line, each after a dash
      2 |   allowed_uids: 5`},
	{"list for a value", "socket:\n  uid: [5]\n", `
c.yaml:2: socket.uid: this is a list; write a single value
      2 |   uid: [5]`},
	{"less for all than for one frame", "limits:\n  max_total_bytes: 1000000\n", `
c.yaml:2: limits.max_total_bytes: 1000000 is out of range; write 5242880 to 1099511627776
      2 |   max_total_bytes: 1000000`},
	{"no value", "redis:\n  url:\n", `
c.yaml:2: redis.url: has no value; write one, or remove the line for the default
      2 |   url:`},
	{"alias", "socket: {uid: &a 5, gid: *a}\n", `
c.yaml:1: socket.uid: anchors and aliases are not read; write the value out
      1 | socket: {uid: &a 5, gid: *a}
c.yaml:1: socket.gid: anchors and aliases are not read; write the value out
      1 | socket: {uid: &a 5, gid: *a}`},
	{"merge key", "redis:\n  <<: {url: embedded}\n", `
c.yaml:2: redis: merge keys are not read; write the values out
      2 |   <<: {url: embedded}`},
	{"duration without a unit", "limits:\n  shutdown_grace: 2\n", `
c.yaml:2: limits.shutdown_grace: "2" is not a duration; write a number with its unit, such as 5s, 250ms or 1m30s
      2 |   shutdown_grace: 2`},
	{"negative duration", "limits:\n  shutdown_grace: -2s\n", `
c.yaml:2: limits.shutdown_grace: -2s is out of range; write 0s to 1h0m0s
      2 |   shutdown_grace: -2s`},
	{"yes is no boolean", "telemetry:\n  record_keys: yes\n", `
c.yaml:2: telemetry.record_keys: "yes" is neither true nor false; write one of them
      2 |   record_keys: yes`},
	{"fraction", "redis:\n  pool:\n    max: 1.5\n", `
c.yaml:3: redis.pool.max: "1.5" is not a whole number; write it in decimal digits, such as 10
      3 |     max: 1.5`},
	{"past 64 bits", "limits:\n  max_depth: 9223372036854775808\n", `
c.yaml:2: limits.max_depth: 9223372036854775808 is too large for any field; write a smaller number
      2 |   max_depth: 9223372036854775808`},
	{"mode that is not octal", "socket:\n  mode: 0689\n", `
c.yaml:2: socket.mode: "0689" is not an octal mode; write one such as 0660
      2 |   mode: 0689`},
	{"mode with set-uid", "socket:\n  mode: 4660\n", `
c.yaml:2: socket.mode: "4660" has more than permission bits; write one such as 0660
      2 |   mode: 4660`},
	{"mode against the owner", "socket:\n  mode: 0060\n", `
c.yaml:2: socket.mode: "0060" keeps the sidecar from its own socket; let the owner read and write, such as 0660
      2 |   mode: 0060`},
	{"uids", "socket:\n  uid: -2\n  allowed_gids: [0, -1]\n  admin:\n    uids: [4294967295]\n", `
c.yaml:2: socket.uid: -2 is out of range; write -1 to 4294967294
      2 |   uid: -2
c.yaml:3: socket.allowed_gids[1]: -1 is out of range; write 0 to 4294967294
      3 |   allowed_gids: [0, -1]
c.yaml:5: socket.admin.uids[0]: 4294967295 is out of range; write 0 to 4294967294
      5 |     uids: [4294967295]`},
	{"no path", "socket:\n  path: ''\n", `
c.yaml:2: socket.path: is empty; write a path such as /run/coxswain/sidecar.sock
      2 |   path: ''`},
	{"path that the operating system cuts", "socket:\n  path: /" + strings.Repeat("a", 107) + "\n", `
c.yaml:2: socket.path: has 108 bytes; the operating system takes at most 107: choose a shorter path
      2 |   path: /` + strings.Repeat("a", 107)},
	{"consumer that no pod is called", "streams:\n  consumer: " + strings.Repeat("a", 254) + "\n", `
c.yaml:2: streams.consumer: has 254 bytes; write a name of at most 253, which no other pod has
      2 |   consumer: ` + strings.Repeat("a", 254)},
	{"abstract socket", "socket:\n  path: '@coxswain'\n", `
c.yaml:2: socket.path: "@coxswain" is no file; abstract sockets have no mode to guard them: write a path such as /run/coxswain/sidecar.sock
      2 |   path: '@coxswain'`},
	{"URL of a socket", "socket:\n  path: unix:///run/coxswain/sidecar.sock\n", `
c.yaml:2: socket.path: "unix:///run/coxswain/sidecar.sock" is a URL; write the path alone, such as /run/coxswain/sidecar.sock
      2 |   path: unix:///run/coxswain/sidecar.sock`},
	{"port of a name", "redis:\n  url: rediss://h\n  tls: {server_name: 'h:6379'}\n", `
c.yaml:3: redis.tls.server_name: "h:6379" is more than a name; write the host alone, as certificates have it, such as redis.example.com
      3 |   tls: {server_name: 'h:6379'}`},
	{"folder", "socket:\n  path: /run/coxswain/\n", `
c.yaml:2: socket.path: "/run/coxswain/" is a folder; add the file's name, such as sidecar.sock
      2 |   path: /run/coxswain/`},
	{"address without a port", "http:\n  addr: 127.0.0.1\n", `
c.yaml:2: http.addr: "127.0.0.1" is not host:port; write one such as :8086 or 127.0.0.1:8086
      2 |   addr: 127.0.0.1`},
	{"status page for other machines", "http:\n  status_addr: :8087\n", `
c.yaml:2: http.status_addr: ":8087" is no IP address of the loopback; the status page is for this machine alone: write 127.0.0.1:8087, and reach it by kubectl port-forward or ssh -L
      2 |   status_addr: :8087`},
	{"status page on an address of the pod", "http: {status_addr: '10.1.2.3:9000'}\n", `
c.yaml:1: http.status_addr: "10.1.2.3:9000" is no IP address of the loopback; the status page is for this machine alone: write 127.0.0.1:9000, and reach it by kubectl port-forward or ssh -L
      1 | http: {status_addr: '10.1.2.3:9000'}`},
	{"status page on a name", "http: {status_addr: 'localhost:8087'}\n", `
c.yaml:1: http.status_addr: "localhost:8087" is no IP address of the loopback; the status page is for this machine alone: write 127.0.0.1:8087, and reach it by kubectl port-forward or ssh -L
      1 | http: {status_addr: 'localhost:8087'}`},
	{"status page without a port", "http: {status_addr: 127.0.0.1}\n", `
c.yaml:1: http.status_addr: "127.0.0.1" is not host:port; write one such as 127.0.0.1:8087
      1 | http: {status_addr: 127.0.0.1}`},
	{"port out of range", "http:\n  addr: ':70000'\n", `
c.yaml:2: http.addr: "70000" is not a port; write a number from 0 (any free port) to 65535
      2 |   addr: ':70000'`},
	{"redis scheme", "redis:\n  url: localhost:6379\n", `
c.yaml:2: redis.url: starts with "localhost"; write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development
      2 |   url: localhost:6379`},
	{"several redis hosts", "redis:\n  url: redis://a,b\n", `
c.yaml:2: redis.url: has several hosts, which are a cluster or sentinels; write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development
      2 |   url: redis://a,b`},
	{"sentinels without a master", "redis:\n  url: redis+sentinel://a,b\n", `
c.yaml:2: redis.url: lacks the name by which the sentinels know the master; write redis+sentinel://host:26379,host:26379/master
      2 |   url: redis+sentinel://a,b`},
	{"a cluster's database", "redis:\n  url: rediss+cluster://a,b/1\n", `
c.yaml:2: redis.url: has a path; a cluster has one database only: write redis+cluster://host:6379,host:6379
      2 |   url: rediss+cluster://a,b/1`},
	{"socket", "redis:\n  url: unix://run/redis.sock\n", `
c.yaml:2: redis.url: names no socket; write its absolute path, such as unix:///run/redis.sock?db=0
      2 |   url: unix://run/redis.sock`},
	{"redis options", "redis:\n  url: redis://host?pool_size=5\n", `
c.yaml:2: redis.url: has options after ? or #, which are not read; write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development
      2 |   url: redis://host?pool_size=5`},
	{"redis host", "redis:\n  url: redis:///0\n", `
c.yaml:2: redis.url: names no host; write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development
      2 |   url: redis:///0`},
	{"redis port", "redis:\n  url: redis://host:0\n", `
c.yaml:2: redis.url: has port 0; write one from 1 to 65535
      2 |   url: redis://host:0`},
	{"redis database", "redis:\n  url: redis://host/main\n", `
c.yaml:2: redis.url: has database "main"; write a number, such as redis://host:6379/0
      2 |   url: redis://host/main`},
	{"special character in a password", "redis:\n  url: redis://u:p#w@host\n", `
c.yaml:2: redis.url: has a /, ? or # before its @; percent-encode what is special in the user and the password: / as %2F, ? as %3F, # as %23, @ as %40, % as %25, a space as %20
      2 |   url: redis://xxxxx@host`},
	{"zone", "redis:\n  url: redis://[::1%lo]:6379\nhttp:\n  addr: '[::1%25lo]:8086'\n", `
c.yaml:2: redis.url: has an IPv6 address with a zone that cannot be read; write its % as %25, such as redis://[fe80::1%25eth0]:6379
      2 |   url: redis://[::1%lo]:6379
c.yaml:4: http.addr: "[::1%25lo]:8086" is no URL; write the zone of an IPv6 address as it is, such as [fe80::1%eth0]:8086
      4 |   addr: '[::1%25lo]:8086'`},
	{"a cluster's user twice", "redis:\n  url: redis+cluster://u:p@a:1,b:2\n  username: v\n", `
c.yaml:3: redis.username: redis.url names a user too; write it in one of them
      3 |   username: v`},
	{"TLS of sentinels without TLS", "redis:\n  url: redis+sentinel://a:1,b:2/m\n  tls: {ca_file: /ca}\n", `
c.yaml:3: redis.tls.ca_file: redis.url is without TLS; write rediss:// there, or remove this
      3 |   tls: {ca_file: /ca}`},
	{"login of sentinels that are none", "redis:\n  sentinel:\n    username: w\n", `
c.yaml:3: redis.sentinel.username: redis.url names no sentinels; write redis+sentinel://host:26379/master there, or remove this
      3 |     username: w
c.yaml:3: redis.sentinel.username: needs a password; set redis.sentinel.password_file, or remove it
      3 |     username: w`},
	{"two passwords of sentinels", "redis:\n  url: redis+sentinel://h/m\n  sentinel:\n    password: p\n    password_file: f\n", `
c.yaml:4: redis.sentinel.password: redis.sentinel.password_file has a password too; keep one of them
      4 |     password: xxxxx
c.yaml:5: redis.sentinel.password_file: "f" is not absolute; write the whole path, such as /etc/coxswain/sentinel/password
      5 |     password_file: f`},
	{"prefix", "redis:\n  prefix: 'a{b}'\n  tenant: 'a:b'\n", `
c.yaml:2: redis.prefix: "a{b}" cannot start a key; use 1 to 64 letters, digits, dots, dashes or underscores
      2 |   prefix: 'a{b}'
c.yaml:3: redis.tenant: "a:b" cannot be part of a key; use 1 to 64 letters, digits, dots, dashes or underscores, or leave it empty
      3 |   tenant: 'a:b'`},
	{"pool", "redis:\n  pool:\n    min_idle: 60\n    max: 50\n    dial_timeout: 0s\n", `
c.yaml:3: redis.pool.min_idle: 60 is out of range; write 1 to 50, which is redis.pool.max
      3 |     min_idle: 60
c.yaml:5: redis.pool.dial_timeout: 0s is out of range; write 1ms to 1m0s
      5 |     dial_timeout: 0s`},
	{"limits", "limits:\n  max_frame_bytes: 1\n  max_connections: 0\n", `
c.yaml:2: limits.max_frame_bytes: 1 is out of range; write 1024 to 67108864
      2 |   max_frame_bytes: 1
c.yaml:3: limits.max_connections: 0 is out of range; write 1 to 65536
      3 |   max_connections: 0`},
	{"user and password twice", "redis:\n  url: redis://u:p@host\n  username: v\n  password_file: /p\n", `
c.yaml:3: redis.username: redis.url names a user too; write it in one of them
      3 |   username: v
c.yaml:4: redis.password_file: redis.url has a password too; take it out there, so that it can change without a restart
      4 |   password_file: /p`},
	{"user and password of nobody", "redis:\n  url: embedded\n  username: v\n  password_file: /p\n", `
c.yaml:3: redis.username: the embedded store has no users; remove it, or set redis.url to a Redis
      3 |   username: v
c.yaml:4: redis.password_file: the embedded store asks for no password; remove it, or set redis.url to a Redis
      4 |   password_file: /p`},
	{"user and password that cannot be", "redis:\n  username: a b\n  password_file: secret\n", `
c.yaml:2: redis.username: "a b" has spaces or control characters, which no user of Redis has; remove them
      2 |   username: a b
c.yaml:3: redis.password_file: "secret" is not absolute; write the whole path, such as /etc/coxswain/redis/password
      3 |   password_file: secret`},
	{"TLS without TLS", "redis:\n  url: redis://host\n  tls: {ca_file: /ca, server_name: host}\n", `
c.yaml:3: redis.tls.ca_file: redis.url is without TLS; write rediss:// there, or remove this
      3 |   tls: {ca_file: /ca, server_name: host}
c.yaml:3: redis.tls.server_name: redis.url is without TLS; write rediss:// there, or remove this
      3 |   tls: {ca_file: /ca, server_name: host}`},
	{"half a client certificate", "redis:\n  url: embedded\n  tls:\n    key_file: k\n", `
c.yaml:4: redis.tls.key_file: redis.url is without TLS; write rediss:// there, or remove this
      4 |     key_file: k
c.yaml:4: redis.tls.key_file: needs its certificate; set redis.tls.cert_file, or remove it
      4 |     key_file: k`},
	{"readiness mode", "readiness:\n  mode: never\n", `
c.yaml:2: readiness.mode: "never" is unknown; write redis or always
      2 |   mode: never`},
	{"log level", "telemetry:\n  log_level: wran\n", `
c.yaml:2: telemetry.log_level: "wran" is unknown; did you mean warn?
      2 |   log_level: wran`},
	{"no threads", "runtime:\n  procs: 0\n", `
c.yaml:2: runtime.procs: "0" is no number of threads; write auto, or a number from 1 to 1024
      2 |   procs: 0`},
	{"threads in words", "runtime:\n  procs: all\n", `
c.yaml:2: runtime.procs: "all" is no number of threads; write auto, or a number from 1 to 1024
      2 |   procs: all`},
	{"log format", "telemetry:\n  log_format: jsn\n", `
c.yaml:2: telemetry.log_format: "jsn" is unknown; did you mean json?
      2 |   log_format: jsn`},
	{"log level like no other", "telemetry:\n  log_level: verbose\n", `
c.yaml:2: telemetry.log_level: "verbose" is unknown; write debug, info, warn or error
      2 |   log_level: verbose`},
}

func TestEachMistakeNamesItsFieldItsLineAndTheRemedy(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, m.want[1:], problems(t, config.Sources{File: write(t, m.yaml)}))
		})
	}
}

func TestMistakesOfVariablesAndFlagsNameThem(t *testing.T) {
	t.Parallel()
	got := problems(t, config.Sources{
		File: write(t, "telemetry: {log_level: loud}\nredis: {url: redis://host}\n"),
		Env: []string{
			"COXSWAIN_SOCKET=" + strings.Repeat("a", 108), "COXSWAIN_LIMITS_MAX_DEPTH=deep", "COXSWAIN_SOCKET_ADMIN_UIDS=0,x",
		},
		Flags: []config.Flag{{Name: "--log-level", Path: "telemetry.log_level", Value: "infos"}, {Name: "--redis", Path: "redis.url", Value: "http://x"}},
	})
	require.ElementsMatch(t, []string{
		`COXSWAIN_LIMITS_MAX_DEPTH: limits.max_depth: "deep" is not a whole number; write it in decimal digits, such as 10`,
		`COXSWAIN_SOCKET_ADMIN_UIDS: socket.admin.uids: "x" is not a whole number; write it in decimal digits, such as 10`,
		`COXSWAIN_SOCKET: socket.path: has 108 bytes; the operating system takes at most 107: choose a shorter path`,
		`--redis: redis.url: starts with "http"; write redis://host:6379/0 (user:password@ before the host; rediss:// for TLS), unix:///path/of/socket, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or embedded for development`,
		`--log-level: telemetry.log_level: "infos" is unknown; did you mean info?`,
	}, strings.Split(got, "\n"))
}

func TestAMistakeOfAnAddressNamesItsVariable(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^COXSWAIN_REDIS_URL: redis\.url: .*percent-encode`,
		problems(t, config.Sources{Env: []string{"COXSWAIN_REDIS_URL=redis://:p?w@host\n"}}))
}

func TestAllMistakesAreShownAtOnceInTheFilesOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, `c.yaml:1: http.addr: "x" is not host:port; write one such as :8086 or 127.0.0.1:8086
      1 | http: {addr: x}
c.yaml:2: htp: unknown key; did you mean http?
      2 | htp: {}
c.yaml:3: telemetry.log_level: "x" is unknown; write debug, info, warn or error
      3 | telemetry: {log_level: x}
COXSWAIN_X: unknown variable; `+"`sidecar config print`"+` shows the known ones`,
		problems(t, config.Sources{File: write(t, "http: {addr: x}\nhtp: {}\ntelemetry: {log_level: x}\n"), Env: []string{"COXSWAIN_X=1"}}))
}

// Any file results in a configuration or in a list of mistakes, never in a panic, and a
// configuration that is printed and loaded again is the same.
func FuzzLoad(f *testing.F) {
	for _, m := range mistakes {
		f.Add([]byte(m.yaml))
	}
	f.Add([]byte("socket: {path: /run/x.sock, mode: 0666}\nrules:\n  items:\n    - name: a\n      limits:\n      - {limit: 1, period_ms: 2}\n"))
	f.Add([]byte("socket: {path: \"?\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		config.CheckParse(t, b)
	})
}
