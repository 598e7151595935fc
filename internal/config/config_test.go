package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
)

// write makes a file for one test and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// problems loads a configuration and returns the text of its problems, without the file's folder.
func problems(t *testing.T, src config.Sources, checks ...config.Check) string {
	t.Helper()
	c, err := config.Load(src, checks...)
	require.Error(t, err)
	require.Nil(t, c, "a configuration with mistakes must not get out")
	require.IsType(t, config.Problems{}, err)
	return strings.ReplaceAll(err.Error(), filepath.Dir(src.File)+"/", "")
}

func same(t *testing.T, want, got config.Config) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Config{})); d != "" {
		t.Fatal(d)
	}
}

func TestNothingGivenIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "socket:\nrules:\n  items:\n"} {
		c, err := config.Load(config.Sources{File: write(t, text)})
		require.NoError(t, err, "%q", text)
		same(t, config.Default(), *c)
	}
	c, err := config.Load(config.Sources{})
	require.NoError(t, err)
	same(t, config.Default(), *c)
	require.Equal(t, "/run/coxswain/sidecar.sock", c.Socket.Path)
	require.Equal(t, config.Pool{MinIdle: 10, Max: 50, DialTimeout: 5 * time.Second, CommandTimeout: 3 * time.Second}, c.Redis.Pool)
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{File: "testdata/full.yaml"})
	require.NoError(t, err)
	same(t, config.Config{
		Socket: config.Socket{
			Path: "/run/other/sidecar.sock", Mode: "0600", UID: 65532, GID: 65533,
			AllowedUIDs: []int{1000, 1001}, AllowedGIDs: []int{65533},
			Admin: config.Admin{UIDs: []int{0}}, WriteTimeout: 2500 * time.Millisecond,
		},
		HTTP: config.HTTP{Addr: "127.0.0.1:0", StatusAddr: "127.0.0.1:8087"},
		Redis: config.Redis{
			URL: "redis://user:hunter2@redis.example:6380/3", Prefix: "crawl", Tenant: "team-a",
			Pool: config.Pool{MinIdle: 1, Max: 8, DialTimeout: time.Second, CommandTimeout: time.Minute},
		},
		Limits: config.Limits{
			MaxFrameBytes: 2048, MaxDepth: 8, MaxElements: 100, MaxInflight: 7, MaxWaiting: 9, MaxConnections: 11,
			MaxTotalBytes: 20_000, MaxTotalWaiting: 13,
		},
		Runtime:   config.Runtime{Procs: "2"},
		Telemetry: config.Telemetry{LogLevel: "debug", LogFormat: "text", RecordKeys: true},
		Readiness: config.Readiness{Mode: config.ReadinessAlways},
		Rules: config.Rules{Precedence: config.PrecedenceRedis, Files: []string{"rules.yaml"}, Items: []api.Rule{{
			Name: "user-agent", Algorithm: "token_bucket",
			Limits:   []api.Band{{Limit: 80, PeriodMS: 600_000, Burst: 20}, {Limit: 3, PeriodMS: 5_000}},
			FailMode: "local", LocalShareOf: 12, DenyCache: "off",
			Overrides: []api.Override{
				{Exact: "partner", Limits: []api.Band{{Limit: 500, PeriodMS: 60_000}}},
				{Glob: "bot-*", MaxConcurrent: 1},
				{Suffix: "example.com", Limits: []api.Band{{Limit: 4, PeriodMS: 1000, Burst: 2}}, MaxConcurrent: 4},
			},
			Allow:  []api.Match{{Exact: "health"}, {Glob: "10.*"}},
			Deny:   []api.Match{{Suffix: "example.org"}},
			Groups: []api.Group{{Suffix: "example.net"}, {Glob: "*.cdn", Name: "cdn"}, {Exact: "a", Name: "b"}},
			Shadow: true, MaxConcurrent: 2, HeadroomPercent: 25, MaxDelayMS: 30_000,
			Mode: "exact", Lease: &api.RuleLease{MaxSharePercent: 20, TTLMS: 500},
			Penalty: &api.Penalty{Codes: []int64{429, 403}, BaseMS: 1000, MaxMS: 60_000, ForgiveMS: 5000, JitterPercent: new(int64)},
		}, {
			Name: "burst", Algorithm: "token_bucket",
			Limits: []api.Band{{Limit: 3, PeriodMS: 5_000}},
		}}},
		Breakers: config.Breakers{Items: []api.BreakerPolicy{{
			Name: "*.example.com", FailureThreshold: 5, SuccessThreshold: 2, OpenMS: 30_000, OpenMaxMS: 240_000, HalfOpenMax: 1,
			ProbeTTLMS: 15_000, FailMode: "closed",
			Window: &api.BreakerWindow{WindowMS: 60_000, MinCalls: 20, FailureRate: 50, SlowMS: 2000, SlowRate: 80},
		}}},
		Streams: config.Streams{Consumer: "crawler-7"},
	}, *c)
}

func TestTheKeysOfALoginAreRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/login.yaml")
	require.NoError(t, err)
	c := config.ReadOnly(t, text)
	want := config.Default()
	want.Redis.URL, want.Redis.Username, want.Redis.PasswordFile = "rediss+sentinel://redis.example/main", "crawler", "/etc/coxswain/redis/password"
	want.Redis.Sentinel = config.Login{Username: "watcher", PasswordFile: "/etc/coxswain/sentinel/password"}
	want.Redis.TLS = config.TLS{
		CAFile: "/etc/coxswain/tls/ca.crt", CertFile: "/etc/coxswain/tls/tls.crt", KeyFile: "/etc/coxswain/tls/tls.key", ServerName: "redis.internal",
	}
	same(t, want, c)
}

func TestFlagsWinOverVariablesOverTheFileOverDefaults(t *testing.T) {
	t.Parallel()
	file := write(t, "redis: {prefix: file, tenant: file, url: redis://file}\n")
	src := config.Sources{
		Env: []string{
			"COXSWAIN_CONFIG=" + file, "COXSWAIN_REDIS_TENANT=env", "COXSWAIN_REDIS_URL=redis://env",
			"COXSWAIN_SOCKET=env.sock", "COXSWAIN_SOCKET_ALLOWED_UIDS=1, 2,3", "COXSWAIN_HTTP_ADDR=",
			"COXSWAIN_LIMITS_SHUTDOWN_GRACE=250ms", "COXSWAIN_TELEMETRY_RECORD_KEYS=true", "HOME=/",
		},
		Flags: []config.Flag{{Name: "--redis", Path: "redis.url", Value: "embedded"}},
	}
	c, err := config.Load(src)
	require.NoError(t, err)
	want := config.Default()
	want.Redis.Prefix, want.Redis.Tenant, want.Redis.URL = "file", "env", "embedded"
	want.Socket.Path, want.Socket.AllowedUIDs = "env.sock", []int{1, 2, 3}
	want.Limits.ShutdownGrace, want.Telemetry.RecordKeys = 250*time.Millisecond, true
	same(t, want, *c)

	src.File = write(t, "redis: {prefix: flag}\n")
	c, err = config.Load(src)
	require.NoError(t, err)
	require.Equal(t, "flag", c.Redis.Prefix, "--config wins over COXSWAIN_CONFIG")
	require.Equal(t, src.File, c.File())
}

func TestASmallPoolNeedsNoSecondSetting(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{File: write(t, "redis: {pool: {max: 4}}\n")})
	require.NoError(t, err)
	require.Equal(t, 4, c.Redis.Pool.MinIdle)
	_, err = config.Load(config.Sources{Env: []string{"COXSWAIN_REDIS_POOL_MAX=4", "COXSWAIN_REDIS_POOL_MIN_IDLE=10"}})
	require.EqualError(t, err, "COXSWAIN_REDIS_POOL_MIN_IDLE: redis.pool.min_idle: 10 is out of range; write 1 to 4, which is redis.pool.max")
}

func TestAnUnknownVariableIsRefused(t *testing.T) {
	t.Parallel()
	got := problems(t, config.Sources{Env: []string{
		"COXSWAIN_REDIS_ULR=redis://x", "COXSWAIN_WHATEVER=1", "COXSWAIN_HTTP_PORT=8086",
		"COXSWAIN_RULES_ITEMS=x", "COXSWAIN_TEST_REDIS=redis://x", "COXSWAIN_OLD=",
	}})
	require.Equal(t, `COXSWAIN_HTTP_PORT: unknown variable; `+"`sidecar config print`"+` shows the known ones
COXSWAIN_REDIS_ULR: unknown variable; did you mean COXSWAIN_REDIS_URL?
COXSWAIN_RULES_ITEMS: unknown variable; did you mean COXSWAIN_RULES_FILES?
COXSWAIN_WHATEVER: unknown variable; `+"`sidecar config print`"+` shows the known ones`, got)
}

func TestServicesOfKubernetesAreNotTypos(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Sources{Env: []string{
		"COXSWAIN_SERVICE_HOST=10.0.0.1", "COXSWAIN_SERVICE_PORT=8086", "COXSWAIN_SERVICE_PORT_HTTP_METRICS=8086",
		"COXSWAIN_PORT=tcp://10.0.0.1:8086", "COXSWAIN_PORT_8086_TCP=tcp://10.0.0.1:8086",
		"COXSWAIN_PORT_8086_TCP_PROTO=tcp", "COXSWAIN_PORT_8086_TCP_PORT=8086", "COXSWAIN_PORT_8086_TCP_ADDR=10.0.0.1",
		"COXSWAIN_REDIS_SERVICE_HOST=10.0.0.2", "COXSWAIN_REDIS_SERVICE_PORT=6379",
		"COXSWAIN_REDIS_PORT=tcp://10.0.0.2:6379", "COXSWAIN_REDIS_PORT_6379_TCP=tcp://10.0.0.2:6379",
	}})
	require.NoError(t, err)
}

func TestBothSocketVariablesMayAgreeOnly(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{Env: []string{"COXSWAIN_SOCKET_PATH=a.sock"}})
	require.NoError(t, err)
	require.Equal(t, "a.sock", c.Socket.Path)
	_, err = config.Load(config.Sources{Env: []string{"COXSWAIN_SOCKET_PATH=a.sock", "COXSWAIN_SOCKET=a.sock"}})
	require.NoError(t, err)
	require.Equal(t, "COXSWAIN_SOCKET_PATH: socket.path: says something else than COXSWAIN_SOCKET; set one of them",
		problems(t, config.Sources{Env: []string{"COXSWAIN_SOCKET_PATH=a.sock", "COXSWAIN_SOCKET=b.sock"}}))
}

func TestSocketPathOfAClient(t *testing.T) {
	t.Parallel()
	require.Equal(t, config.DefaultSocket, config.SocketPath(nil))
	require.Equal(t, config.DefaultSocket, config.SocketPath([]string{"COXSWAIN_SOCKET="}))
	require.Equal(t, "a", config.SocketPath([]string{"COXSWAIN_SOCKET_PATH=b", "COXSWAIN_SOCKET=a"}))
	require.Equal(t, "b", config.SocketPath([]string{"COXSWAIN_SOCKET_PATH=b"}))
}

func TestLineOfAFieldOrOfWhatEnclosesIt(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{File: "testdata/full.yaml"})
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for path, want := range map[string]string{
		"socket.path":                        "  path: /run/other/sidecar.sock",
		"socket.allowed_uids[1]":             "  allowed_uids: [1000, 1001]",
		"socket.allowed_gids[0]":             "    - 65533",
		"rules.items[0]":                     "    - name: user-agent",
		"rules.items[0].limits[0].period_ms": "          period_ms: 600000",
		"rules.items[0].limits[1].burst":     "        - {limit: 3, period_ms: 5000}",
		"rules.items[0].nothing":             "    - name: user-agent",
		"rules.items[7].name":                "  items:",
		"rules.nothing":                      "rules:",
	} {
		line := c.Line(path)
		require.Positive(t, line, path)
		require.Equal(t, want, lines[line-1], path)
	}
	require.Zero(t, c.Line("nothing.like.it"))
	require.Zero(t, c.Line(""))
}

func TestAPrintedConfigurationQuotesTextThatYAMLWouldReadOtherwise(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"?", "? x", "-", "- x", "~", "null", "0660", "1e3", "yes", "a: b", "a #b",
		" a", "a ", "<<", "=", "...", "---", "&a", "*a", "!a", "%a", "`a", "|", ">", ":", ": a", "a:", ":8086",
	} {
		c, err := config.Load(config.Sources{Flags: []config.Flag{{Name: "--socket", Path: "socket.path", Value: text}}})
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, c.Print(&out))
		again, err := config.Printed(out.String())
		require.NoError(t, err, out.String())
		require.Equal(t, text, again.Socket.Path, out.String())
	}
}

func TestAPrintedConfigurationLoadsAgain(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{
		File: "testdata/full.yaml",
		Env:  []string{"COXSWAIN_REDIS_URL=redis://127.0.0.1:6379/1"},
	})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	file := write(t, out.String())
	rules, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "rules.yaml"), rules, 0o600))
	again, err := config.Load(config.Sources{File: file})
	require.NoError(t, err, out.String())
	same(t, *c, *again)
	require.Contains(t, out.String(), "  url: redis://127.0.0.1:6379/1 # COXSWAIN_REDIS_URL, set by COXSWAIN_REDIS_URL\n")
	require.Contains(t, out.String(), "  path: /run/other/sidecar.sock # COXSWAIN_SOCKET, set in line 3\n")
	require.Contains(t, out.String(), "  max_depth: 8 # COXSWAIN_LIMITS_MAX_DEPTH, set in line 28\n")

	out.Reset()
	d := config.Default()
	require.NoError(t, d.Print(&out))
	again, err = config.Load(config.Sources{File: write(t, out.String())})
	require.NoError(t, err, out.String())
	same(t, d, *again)
	require.Contains(t, out.String(), "  tenant: \"\" # COXSWAIN_REDIS_TENANT\n")
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{File: "testdata/full.yaml"})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "url: redis://xxxxx@redis.example:6380/3 ")
	require.Equal(t, "redis://user:hunter2@redis.example:6380/3", c.Redis.URL, "printing must not change it")

	for _, url := range []string{
		"redis://:hunter2@host:x", "redis://u:hunter2@", "redis://u:hunt@hunter2@ho st", "redis://hunter2@host/db", "redis://u:%hunter2@host",
	} {
		require.NotContains(t, problems(t, config.Sources{File: write(t, "redis:\n  url: \""+url+"\"\n")}), "hunter2", url)
		require.NotContains(t, problems(t, config.Sources{Env: []string{"COXSWAIN_REDIS_URL=" + url}}), "hunter2", url)
	}
	require.NotContains(t, problems(t, config.Sources{File: write(t, "redis:\n  url: redis://u:hunter2@h: x\n")}), "hunter2")
}

func TestASentinelsPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{
		File: write(t, "redis:\n  url: redis+sentinel://h/m\n  sentinel: {username: w, password: hunter2}\n"),
	})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "password: xxxxx # COXSWAIN_REDIS_SENTINEL_PASSWORD")
	require.Equal(t, "hunter2", c.Redis.Sentinel.Password, "printing must not change it")
	for _, yaml := range []string{
		"redis:\n  sentinel:\n    password: hunter2\n", "redis: {sentinel: {\"password\": 'hunter2', username: x}}\n",
		"redis:\n  url: redis+sentinel://h/m\n  sentinel:\n    password_file: /f\n    password: hunter2\n",
	} {
		require.NotContains(t, problems(t, config.Sources{File: write(t, yaml)}), "hunter2", yaml)
	}
	require.NotContains(t, problems(t, config.Sources{Env: []string{"COXSWAIN_REDIS_SENTINEL_PASSWORD=hunter2"}}), "hunter2")
}

func TestALineBreakAtTheEndOfAValueIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Sources{
		File: write(t, "redis:\n  url: |\n    redis://file\n  tenant: |\n    a\nsocket:\n  mode: \"0600\\r\\n\"\n"),
		Env: []string{
			"COXSWAIN_SOCKET=/run/s.sock\n", "COXSWAIN_HTTP_ADDR=:0\r\n", "COXSWAIN_REDIS_POOL_MAX=7\n", "COXSWAIN_READINESS_MODE=\n",
		},
		Flags: []config.Flag{{Name: "--log-level", Path: "telemetry.log_level", Value: "debug\n"}},
	})
	require.NoError(t, err)
	want := config.Default()
	want.Redis.URL, want.Redis.Tenant, want.Socket.Mode = "redis://file", "a", "0600"
	want.Socket.Path, want.HTTP.Addr, want.Redis.Pool.Max, want.Redis.Pool.MinIdle = "/run/s.sock", ":0", 7, 7
	want.Telemetry.LogLevel = "debug"
	same(t, want, *c)

	c, err = config.Load(config.Sources{Env: []string{"COXSWAIN_REDIS_URL=redis://u:p@env\n"}})
	require.NoError(t, err)
	require.Equal(t, "redis://u:p@env", c.Redis.URL)
	require.Equal(t, "/run/s.sock", config.SocketPath([]string{"COXSWAIN_SOCKET=/run/s.sock\n"}))
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := config.Load(config.Sources{File: dir + "/none.yaml"})
	require.EqualError(t, err, dir+"/none.yaml: cannot be read: no such file or directory; give the path of a YAML file")
	_, err = config.Load(config.Sources{File: dir})
	require.EqualError(t, err, dir+": cannot be read: is a directory; give the path of a YAML file")
	_, err = config.Load(config.Sources{File: write(t, strings.Repeat("#\n", 1<<19)+"#")})
	require.ErrorContains(t, err, "has more than 1048576 bytes, the most of a configuration; name the right file")
}

func TestChecksOfOtherPackagesAddTheirLines(t *testing.T) {
	t.Parallel()
	src := config.Sources{
		File: write(t, "rules:\n  items:\n    - name: a\n      limits:\n        - limit: -1\nhttp: {addr: x}\n"),
		Env:  []string{"COXSWAIN_REDIS_TENANT=a"},
	}
	require.Equal(t, `c.yaml:5: rules.items[0].limits[0].limit: -1 is too low; write 0 or more
      5 |         - limit: -1
c.yaml:6: http.addr: "x" is not host:port; write one such as :8086 or 127.0.0.1:8086
      6 | http: {addr: x}
COXSWAIN_REDIS_TENANT: redis.tenant: is taken; write another
redis.prefix: is taken; write another`, problems(t, src, func(c *config.Config) []config.Problem {
		require.EqualValues(t, -1, c.Rules.Items[0].Limits[0].Limit)
		return []config.Problem{
			{Path: "rules.items[0].limits[0].limit", Message: "-1 is too low; write 0 or more"},
			{Path: "redis.tenant", Message: "is taken; write another"},
			{Path: "redis.prefix", Message: "is taken; write another"},
		}
	}))
}

func TestAValueThatCannotBeReadIsNotAlsoOutOfRange(t *testing.T) {
	t.Parallel()
	require.Equal(t, `c.yaml:5: rules.items[0].limits[0].period_ms: "5s" is not a whole number; write it in decimal digits, such as 10
      5 |         - {limit: 1, period_ms: 5s}`,
		problems(t, config.Sources{
			File: write(t, "rules:\n  items:\n    - name: a\n      limits:\n        - {limit: 1, period_ms: 5s}\n"),
		}, func(c *config.Config) []config.Problem {
			require.Zero(t, c.Rules.Items[0].Limits[0].PeriodMS)
			return []config.Problem{{Path: "rules.items[0].limits[0].period_ms", Message: "0 is too short; write at least 1"}}
		}))
}

func TestEveryKindOfRedisIsTaken(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"embedded", "redis://h", "rediss://u:p@h:1/3", "unix:///run/redis.sock?db=2", "unix://u:p@/run/redis.sock",
		"redis+sentinel://u:p@h1:1,h2/main/2", "rediss+sentinel://h/main", "redis+cluster://h1,[::1]:3", "rediss+cluster://u:p@h1:1",
	} {
		_, err := config.Load(config.Sources{Env: []string{"COXSWAIN_REDIS_URL=" + url}})
		require.NoError(t, err, url)
	}
}

// Helm parses YAML 1.1 and turns a bare off into false, while a value from JSON stays a
// word: the file may have either.
func TestSwitchesAcceptEachSpelling(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]bool{"on": true, "off": false, "true": true, "false": false, `"on"`: true, `"false"`: false} {
		file := write(t, "telemetry: {record_keys: "+written+"}\nrules: {items: [{name: a, deny_cache: "+written+", shadow: "+written+"}]}\n")
		c, err := config.Load(config.Sources{File: file})
		require.NoError(t, err, written)
		require.Equal(t, want, c.Telemetry.RecordKeys, written)
		require.Equal(t, want, c.Rules.Items[0].Shadow, written)
		require.Equal(t, map[bool]api.OnOff{true: "on", false: "off"}[want], c.Rules.Items[0].DenyCache, written)
	}
	_, err := config.Load(config.Sources{File: write(t, "rules: {items: [{name: a, deny_cache: maybe}]}")})
	require.ErrorContains(t, err, `rules.items[0].deny_cache: "maybe" is neither on nor off; write one of them`)
}
