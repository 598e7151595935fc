package doctor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/cgroup"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/doctor"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// options are the options of a run before a start, with a folder of the test whose files stand in for the kernel's.
func options(t *testing.T, url string, env ...string) doctor.Options {
	t.Helper()
	dir := t.TempDir()
	return doctor.Options{
		Sources: config.Sources{Env: append([]string{
			"COXSWAIN_SOCKET=" + filepath.Join(dir, "run", "s"), "COXSWAIN_HTTP_ADDR=127.0.0.1:0", "COXSWAIN_REDIS_URL=" + url,
		}, env...)},
		Rules: func(*config.Config) []config.Problem { return nil },
		Open: func(c *config.Config) (*lua.Runner, error) {
			return lua.Open(lua.Options{URL: c.Redis.URL, MaxConns: 1})
		},
		Pre:     true,
		Version: "1", Timeout: time.Minute, Now: time.Now,
		Podinfo: filepath.Join(dir, "podinfo"), Proc: filepath.Join(dir, "proc"), Group: cgroup.Group(filepath.Join(dir, "cgroup")),
	}
}

// write writes a file, and makes its folder.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// found returns the outcome of one check of a run; its id is empty if the check does not apply.
func found(t *testing.T, o doctor.Options, id string) doctor.Finding {
	t.Helper()
	for _, f := range doctor.Run(t.Context(), o).Checks {
		if f.ID == id {
			return f
		}
	}
	return doctor.Finding{}
}

func TestAClockThatIsSkewedIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by    time.Duration
		cause string
	}{
		"behind": {time.Hour, "h0m0s behind this machine's"},
		"ahead":  {-time.Hour, "h0m0s ahead of this machine's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, redistest.URL(t))
			o.Now = func() time.Time { return time.Now().Add(c.by).Round(0) }
			f := found(t, o, "redis-clock")
			require.Equal(t, doctor.Warn, f.State)
			require.Contains(t, f.Cause, "the clock of 127.0.0.1:")
			require.Regexp(t, `(59m59|1h0m0)(\.\d+)?s (behind|ahead of) this machine's`, f.Cause)
			require.Contains(t, f.Cause, strings.TrimPrefix(c.cause, "h0m0s "))
			require.Contains(t, f.Fix, "time service (NTP)")
		})
	}
	require.Equal(t, doctor.OK, found(t, options(t, redistest.URL(t)), "redis-clock").State)
}

func TestClocksOfMastersThatAreApartAreNamed(t *testing.T) {
	t.Parallel()
	node := func(addr string, skew time.Duration) redis.NodeSurvey {
		return redis.NodeSurvey{Address: addr, Skew: skew, Clocked: true}
	}
	text, err := doctor.Clocks([]redis.NodeSurvey{node("a:1", 20*time.Millisecond), node("b:1", -30*time.Millisecond)})
	require.NoError(t, err)
	require.Equal(t, "30ms behind this machine's", text)
	_, err = doctor.Clocks([]redis.NodeSurvey{node("a:1", 800*time.Millisecond), node("b:1", -700*time.Millisecond), node("c:1", 0)})
	require.ErrorContains(t, err, "the clock of a:1 is 1.5s ahead of that of b:1")
	require.ErrorContains(t, err, "run a time service (NTP) on both")
	_, err = doctor.Clocks(nil)
	require.ErrorContains(t, err, "may not run TIME")
}

func TestASlowWayToRedisIsNamed(t *testing.T) {
	t.Parallel()
	text, err := doctor.Latency(26 * time.Millisecond)
	require.Equal(t, "round trip 26ms, the shortest of several", text)
	require.ErrorContains(t, err, "takes 26ms, and every call makes one; use a Redis that is nearer")
	_, err = doctor.Latency(25 * time.Millisecond)
	require.NoError(t, err)
}

const inPod = "KUBERNETES_SERVICE_HOST=10.0.0.1"

func TestMountsOfAPod(t *testing.T) {
	t.Parallel()
	const root = "1 0 0:1 / / rw - overlay overlay rw\n"
	for name, c := range map[string]struct {
		table, env        string
		state, cause, fix string
	}{
		"a volume in memory": {root + "2 1 0:2 / {folder} rw - tmpfs tmpfs rw\n", "", doctor.OK, "", ""},
		"above the folder":   {root + "2 1 0:2 / {parent} rw - tmpfs tmpfs rw\n", "", doctor.OK, "", ""},
		"on a disk":          {root + "2 1 0:2 / {folder} rw - ext4 /dev/sda rw\n", "", doctor.Warn, "a volume that is not in memory", "medium: Memory"},
		"hidden by another": {
			root + "2 1 0:2 / {folder} rw - tmpfs tmpfs rw\n3 2 0:3 / {folder} rw - ext4 /dev/sda rw\n", "",
			doctor.Warn, "not in memory", "medium: Memory",
		},
		"no volume": {
			root + "2 1 0:2 / {folder}-other rw - tmpfs tmpfs rw\n", "",
			doctor.Fail, "is in the container's own file system", "mount an emptyDir",
		},
		"apps look elsewhere":   {root, "elsewhere", doctor.Fail, "apps look for the socket at", "give apps the same path"},
		"the table is not read": {"", "", doctor.Unchecked, "the table of mounts cannot be read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "redis://127.0.0.1:1", inPod)
			socket := strings.TrimPrefix(o.Sources.Env[0], "COXSWAIN_SOCKET=")
			folder := filepath.Dir(socket)
			if c.table != "" {
				write(t, strings.NewReplacer("{folder}", folder, "{parent}", filepath.Dir(folder)).Replace(c.table), o.Proc, "self", "mountinfo")
			}
			if c.env != "" {
				o.Sources.Flags = []config.Flag{{Name: "--socket", Path: "socket.path", Value: socket + c.env}}
			}
			f := found(t, o, "pod-mounts")
			require.Equal(t, c.state, f.State, "%+v", f)
			require.Contains(t, f.Cause, c.cause)
			require.Contains(t, f.Fix, c.fix)
		})
	}
	require.Empty(t, found(t, options(t, "redis://127.0.0.1:1"), "pod-mounts").ID, "outside of a pod there are none")
}

func TestMarksOfThePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels, annotations, env string
		state, text              string
	}{
		"injected":           {"coxswain.dev/inject=\"true\"\n", "coxswain.dev/injected-by=\"coxswain\"\n", "", doctor.OK, "injected by coxswain"},
		"told by a variable": {"", "", "POD_INJECTED_BY=coxswain", doctor.OK, "injected by coxswain"},
		"the pod's own":      {"app=\"x\"\n", "a=\"b\"\n", "", doctor.OK, "the sidecar is the pod's own"},
		"not injected":       {"coxswain.dev/inject=\"true\"\n", "a=\"b\"\n", "", doctor.Warn, "no policy has injected its sidecar"},
		"changed afterwards": {
			"", "coxswain.dev/injected-by=\"c\"\ncoxswain.dev/log-level=\"debug\"\n", "",
			doctor.Warn, "coxswain.dev/log-level is debug, and the sidecar has info",
		},
		"without a probe":        {"", "coxswain.dev/injected-by=\"c\"\ncoxswain.dev/readiness=\"none\"\n", "", doctor.OK, "injected by c"},
		"another readiness":      {"", "coxswain.dev/injected-by=\"c\"\ncoxswain.dev/readiness=\"always\"\n", "", doctor.Warn, "coxswain.dev/readiness is always"},
		"nothing is to be seen":  {"", "", "", doctor.Unchecked, "annotations are not to be seen"},
		"an escaped line's end":  {"", "coxswain.dev/injected-by=\"a\\nb\"\n", "", doctor.OK, "injected by a\nb"},
		"a line that is no pair": {"", "coxswain.dev/injected-by\n", "", doctor.OK, "the pod's own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "redis://127.0.0.1:1", inPod, c.env)
			for file, text := range map[string]string{"labels": c.labels, "annotations": c.annotations} {
				if text != "" {
					write(t, text, o.Podinfo, file)
				}
			}
			f := found(t, o, "pod-policy")
			require.Equal(t, c.state, f.State, "%+v", f)
			require.Contains(t, f.Found+f.Cause, c.text)
		})
	}
}

func TestLimitsOfTheContainer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files           map[string]string
		env             string
		id, state, text string
	}{
		"enough memory": {
			map[string]string{"memory.max": "67108864", "memory.current": "33554432"},
			"", "container-memory",
			doctor.OK, "32.0 MiB of 64.0 MiB in use",
		},
		"nearly full": {
			map[string]string{"memory.max": "67108864", "memory.current": "66000000"},
			"", "container-memory",
			doctor.Warn, "used nearly all of its memory",
		},
		"no limit in a pod":  {nil, inPod, "container-memory", doctor.Warn, "the container has no memory limit"},
		"no limit elsewhere": {nil, "", "container-memory", doctor.OK, "no limit"},
		"more than the limit": {
			map[string]string{"memory.max": "67108864"},
			"COXSWAIN_LIMITS_MAX_TOTAL_BYTES=99999999", "container-memory",
			doctor.Fail, "limits.max_total_bytes (95.4 MiB) is more",
		},
		"processor time enough": {
			map[string]string{"cpu.max": "50000 100000", "cpu.stat": "nr_periods 10\nnr_throttled 1"},
			"", "container-cpu",
			doctor.OK, "0.5 CPU, throttled in 10 %",
		},
		"throttled": {
			map[string]string{"cpu.max": "50000 100000", "cpu.stat": "nr_periods 10\nnr_throttled 9"},
			"", "container-cpu",
			doctor.Warn, "used up its CPU limit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "redis://127.0.0.1:1", c.env)
			for file, text := range c.files {
				write(t, text, string(o.Group), file)
			}
			f := found(t, o, c.id)
			require.Equal(t, c.state, f.State, "%+v", f)
			require.Contains(t, f.Found+f.Cause, c.text)
		})
	}
}

func TestAReportIsWrittenForPeople(t *testing.T) {
	t.Parallel()
	r := doctor.Report{Failed: 1, Warned: 1, Checks: []doctor.Finding{
		{ID: "config", State: doctor.OK, Found: "c.yaml"},
		{
			ID: "redis-reach", State: doctor.Fail, Found: "10.0.0.1:6379", Fix: "start it", Docs: "docs/doctor.md#redis-reach",
			Cause: "it is away\x1b[2J " + strings.Repeat("far ", 30) + "\n  10.0.0.1",
		},
		{ID: "redis-clock", State: doctor.Warn, Cause: "c", Fix: "f", Docs: "d"},
		{ID: "redis-tls", State: doctor.Unchecked, Cause: "redis-reach has to be in order first"},
		{ID: "redis-ttl", State: doctor.Unchecked, Cause: "redis-reach has to be in order first"},
	}}
	text := func(look doctor.Look) string {
		var b bytes.Buffer
		require.NoError(t, r.Write(&b, look))
		return b.String()
	}
	require.Equal(t, `ok   config       c.yaml
FAIL redis-reach  10.0.0.1:6379
     cause  it is away\x1b[2J far far far far far far far far far far far far far far far far far
            far far far far far far far far far far far far far
              10.0.0.1
     fix    start it
     docs   docs/doctor.md#redis-reach
warn redis-clock
     cause  c
     fix    f
     docs   d
-    not checked  redis-tls, redis-ttl: redis-reach has to be in order first
1 ok, 1 warning, 1 failed, 2 not checked
`, text(doctor.Look{}))
	signs := text(doctor.Look{Signs: true})
	require.Contains(t, signs, "\n✗ redis-reach  10.0.0.1:6379\n")
	require.NotContains(t, signs, "\x1b")
	require.Contains(t, text(doctor.Look{Signs: true, Colours: true}), "\n\x1b[31m✗\x1b[0m redis-reach  10.0.0.1:6379\n")
}
