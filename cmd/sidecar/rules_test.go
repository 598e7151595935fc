package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

const exampleRules = "../../examples/rules.yaml"

func writeRules(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const rulesOfUsers = `items:
  - name: user
    algorithm: token_bucket
    limits: [{limit: 3, period_ms: 5000}]
  - name: host
    algorithm: fixed_window
    limits: [{limit: 10, period_ms: 60000}]
    max_concurrent: 2
`

func TestTheExampleRulesHaveNoMistakes(t *testing.T) {
	t.Parallel()
	a := cli(t, "rules", "lint", exampleRules)
	require.Equal(t, main.OK, a.code, a.err)
	require.Regexp(t, `(?m)^identity  token_bucket +80/10m`, a.out)
	require.Regexp(t, `(?m)^user +sliding_window_log +3/5s +1 allowed set, fail mode local$`, a.out)
	require.Regexp(t, `(?m)^crawler +leaky_bucket +2/1s burst 1, 600/10m +2 overrides, 2 groups, 1 denied set, 4 at once, penalty, fail mode closed$`, a.out)
	require.Contains(t, a.out, "\n3 rules, no mistakes\n")
}

// A whole configuration is taken for its rules, those of its files included.
func TestRulesAreReadFromAWholeConfigurationToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "c.yaml")
	require.NoError(t, os.WriteFile(whole, []byte("redis: {tenant: a}\nrules:\n  files: [r.yaml]\n  items:\n"+
		"    - {name: crawl, algorithm: token_bucket, limits: [{limit: 3, period_ms: 5000}]}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r.yaml"), []byte(rulesOfUsers), 0o600))
	a := cli(t, "rules", "lint", whole)
	require.Equal(t, main.OK, a.code, a.err)
	require.Regexp(t, `(?s)crawl.*host.*user.*3 rules, no mistakes`, a.out)

	s := ready(t, "COXSWAIN_CONFIG="+whole)
	a = cli(t, "rules", "diff", "--socket", s.socket, whole)
	require.Equal(t, answer{main.OK, "", ""}, a)
	a = cliWith(t, "0s k\n", nil, "rules", "simulate", whole, "--rule", "crawl", "--trace", "-")
	require.Equal(t, main.OK, a.code, a.err)

	a = cli(t, "rules", "lint", filepath.Join(dir, "r.yaml"), whole)
	require.Equal(t, main.Usage, a.code)
	require.Equal(t, whole+" is a whole configuration, not a file of rules: check it alone, or with sidecar config check "+whole+"\n", a.err)
	a = cli(t, "rules", "lint", writeRules(t, "redis: {uri: x}\nrules: {items: [{name: a}]}\n"))
	require.Equal(t, main.Usage, a.code)
	require.Contains(t, a.err, "redis.uri: unknown key; did you mean url?")
}

func TestLintShowsEveryMistakeWithItsLineAndRemedy(t *testing.T) {
	t.Parallel()
	file := writeRules(t, `items:
  - name: a
    algorithm: fixed_window
    limits: [{limit: 3, period_ms: 5000, burst: 9}]
    allow: [{}]
    overrides:
      - glob: "x*"
        limits:
          - limit: 1
            period_ms: 0
    penalty:
      codes: [429, 42]
      jitter_percent: -1
  - name: a
    algorithm: leaky
    limits: []
    shadow: perhaps
`)
	a := cli(t, "rules", "lint", file)
	require.Equal(t, main.Usage, a.code)
	require.Empty(t, a.out)
	said := strings.ReplaceAll(a.err, filepath.Dir(file)+"/", "")
	for _, want := range []string{
		"r.yaml:4: items[0].limits[0].burst: ", "r.yaml:5: items[0].allow[0]: matches no key; give exact, glob or suffix\n",
		"r.yaml:10: items[0].overrides[0].limits[0].period_ms: missing; give the period in milliseconds",
		"r.yaml:12: items[0].penalty.codes[1]: 42 is no HTTP status; use 100 to 999\n",
		"r.yaml:13: items[0].penalty.jitter_percent: -1 is out of range; use 0 to 100\n     13 |       jitter_percent: -1\n",
		"r.yaml:14: items[1].name: \"a\" is also the name of items[0]; give each rule its own name\n",
		"r.yaml:15: items[1].algorithm: \"leaky\" is not an algorithm; ", "r.yaml:16: items[1].limits: missing; ",
		"r.yaml:17: items[1].shadow: \"perhaps\" is neither true nor false; write one of them\n",
	} {
		require.Contains(t, said, want)
	}
	a = cli(t, "rules", "lint", file, "none.yaml")
	require.Equal(t, main.Usage, a.code)
	require.Contains(t, a.err, "none.yaml cannot be read: no such file or directory; put the file there or take it off the list")
}

func TestBadUsageOfRulesNamesTheRemedy(t *testing.T) {
	t.Parallel()
	file := writeRules(t, rulesOfUsers)
	for line, want := range map[string]string{
		"rules":                  "rules: name a command: lint, diff or simulate\n",
		"rules frob":             "rules frob: no such command; use lint, diff or simulate\n",
		"rules simulate " + file: "--trace is missing; name a file of lines: at key cost\n",
		"rules simulate " + file + " --trace - --start now": "--start now is not a time; write one such as 2000-01-01T00:00:00Z\n",
		"rules simulate " + file + " --trace - -o yaml": "--output yaml is unknown; write text or json\n" +
			"Usage: sidecar rules simulate FILE --trace FILE [flags]; more: sidecar rules simulate --help\n",
		"explain --rule r": "explain: name both --rule and --key\n",
		"explain --rule r --key k -o yaml": "--output yaml is unknown; write text, json or pretty\n" +
			"Usage: sidecar explain --rule NAME --key KEY [flags]; more: sidecar explain --help\n",
	} {
		a := cli(t, strings.Fields(line)...)
		require.Equal(t, main.Usage, a.code, line)
		require.Equal(t, want, a.err, line)
	}
	for trace, want := range map[string]string{
		"0 k 1":                    "-:1: which rule? the file has several; name one with --rule or in a fourth column\n",
		"# c\n\n0 k 1 usr":         "-:3: params: rule: there is no rule \"usr\"; did you mean \"user\"?\n",
		"5s k 1 user\n4s k 1 user": "-:2: at 4s is before 5s, the line before; sort the trace by time\n",
		"soon k 1 user":            "-:1: at \"soon\" is no time since the start; write a duration such as 1.5s, or milliseconds\n",
		"-1s k 1 user":             "-:1: at \"-1s\" is no time since the start; write a duration such as 1.5s, or milliseconds\n",
		"0 k one user":             "-:1: cost \"one\" is not a whole number; write one such as 1\n",
		"0 k -1 user":              "-:1: params: cost: -1 is out of range; use 0 to 1000000000\n",
		"0":                        "-:1: 1 columns; write: at key cost rule, the last two where they are needed\n",
		"0 k 1 user\n0 k 1 user x": "-:2: 5 columns; write: at key cost rule, the last two where they are needed\n",
	} {
		a := cliWith(t, trace, nil, "rules", "simulate", file, "--trace", "-")
		require.Equal(t, main.Usage, a.code, trace)
		require.Contains(t, a.err, want, trace)
	}
}

func TestDiffComparesWithTheRulesInForce(t *testing.T) {
	t.Parallel()
	file := writeRules(t, rulesOfUsers)
	conf := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(conf, []byte("rules: {files: ["+file+"]}\n"), 0o600))
	s := ready(t, "COXSWAIN_CONFIG="+conf)
	diff := func(text string) answer { return cli(t, "rules", "diff", "--socket", s.socket, writeRules(t, text)) }

	a := diff(strings.Replace(rulesOfUsers, "period_ms: 5000}]", "period_ms: 5000, burst: 3}]\n    fail_mode: open", 1))
	require.Equal(t, main.OK, a.code, a.err)
	require.Empty(t, a.out, "what is as by default is no difference")

	call(t, s.socket, "ratelimit.put_rule", `{"rule":{"name":"put","algorithm":"token_bucket","limits":[{"limit":1,"period_ms":1000}]}}`)
	a = diff(`items:
  - name: user
    algorithm: token_bucket
    limits: [{limit: 5, period_ms: 5000}]
    deny: [{exact: bad}]
  - name: new
    algorithm: leaky_bucket
    limits: [{limit: 1, period_ms: 1000}]
`)
	require.Equal(t, main.Failed, a.code)
	require.Empty(t, a.err)
	require.Equal(t, `- host (of a file): {"algorithm":"fixed_window","limits":[{"limit":10,"period_ms":60000}],"max_concurrent":2,"name":"host"}
+ new: {"algorithm":"leaky_bucket","limits":[{"limit":1,"period_ms":1000}],"name":"new"}
- put (of redis): {"algorithm":"token_bucket","limits":[{"limit":1,"period_ms":1000}],"name":"put"}
~ user (of a file)
    limits: [{"limit":3,"period_ms":5000}] -> [{"limit":5,"period_ms":5000}]
    deny: default -> [{"exact":"bad"}]
`, a.out)
	a = cli(t, "rules", "diff", "--socket", socketIn(t), file)
	require.Equal(t, main.Unreachable, a.code)
}

func TestExplainIsOneScreen(t *testing.T) {
	t.Parallel()
	// In the time of this test no token comes back.
	file := writeRules(t, strings.Replace(rulesOfUsers, "period_ms: 5000", "period_ms: 3600000", 1))
	conf := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(conf, []byte("rules: {files: ["+file+"]}\n"), 0o600))
	s := ready(t, "COXSWAIN_CONFIG="+conf)
	ask := func(args ...string) answer {
		return cli(t, append([]string{"explain", "--socket", s.socket}, args...)...)
	}
	a := ask("--rule", "user", "--key", "k")
	require.Equal(t, main.OK, a.code, a.err)
	require.Regexp(t, `^k may go now\n  rule user, token_bucket, as of \d{4}-\S+Z\n  band 3/1h: 3 left, 0 used\n$`, a.out)
	call(t, s.socket, "ratelimit.acquire", `{"rule":"user","key":"k","cost":3}`)
	a = ask("--rule", "user", "--key", "k")
	require.Regexp(t, `^k is refused: a band is used up \(limit\); free in 1\dm\d+\S*s\n(.*\n)  band 3/1h: 0 left, 3 used, as if unused in (59m\d\S*s|1h0m0s)\n$`, a.out)

	c := dial(t, s.socket, "crawler")
	for range 2 {
		r, err := c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "host", Key: "h"})
		require.NoError(t, err)
		require.True(t, r.Allowed)
	}
	a = ask("--rule", "host", "--key", "other", "--group", "h")
	require.Regexp(t, `^other is refused: all places are held \(concurrency\); free in \S+\n  it counts as h\n`, a.out)
	require.Contains(t, a.out, "  2 of 2 places held, 0 waiting\n    crawler ")
	a = ask("--rule", "host", "--key", "h", "-o", "json")
	var e map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.out), &e))
	require.Equal(t, "concurrency", e["decision"])
	require.Len(t, e["held"], 2)
	a = ask("--rule", "hots", "--key", "h")
	require.Equal(t, main.Failed, a.code)
	require.Equal(t, "NOT_FOUND: rule: there is no rule \"hots\"; did you mean \"host\"?\n", a.err)
}

func TestASimulationListsEachCall(t *testing.T) {
	t.Parallel()
	trace := "# three, then a wait\n0s k 1\n0 k 2 user\n\n0.5s k 1\n1700ms k\n1700 bad 1 host\n"
	a := cliWith(t, trace, nil, "rules", "simulate", writeRules(t, rulesOfUsers), "--rule", "user", "--trace", "-")
	require.Equal(t, main.OK, a.code, a.err)
	require.Equal(t, `AT           KEY                        COST  OUTCOME      REMAINING  RETRY AFTER
0s           k                             1  allowed              2  -
0s           k                             2  allowed              0  -
500ms        k                             1  limit                0  1.167s
1.7s         k                             1  allowed              0  -
1.7s         bad                           1  allowed              9  -
5 calls: 4 allowed, 1 refused
`, a.out)
}

// liveSidecar serves the example rules on the shared Redis, by a clock of its own.
func liveSidecar(t *testing.T, clock *conformance.Clock) *client.Client {
	items, err := config.LoadRules([]string{exampleRules})
	require.NoError(t, err)
	rules, keys, tel := ratelimit.NewRules(), coord.NewKeys(redistest.Prefix(t), ""), telemetry.Nop()
	require.NoError(t, rules.Set(items, 1))
	r, err := lua.Open(lua.Options{URL: redistest.URL(t), Clock: clock.Micros})
	require.NoError(t, err)
	leases, signals := lease.NewLeases(tel), coord.NewSignals(r, keys)
	lines := lease.NewLines(r, signals, leases)
	path := socketIn(t)
	s, err := rpc.Listen(rpc.Options{Path: path, Mode: 0o600, UID: -1, GID: -1, Telemetry: tel}, rpc.Services{
		Leases: leases,
		Methods: ratelimit.New(ratelimit.Options{
			Runner: r, Keys: keys, Rules: rules, Leases: leases, Lines: lines, Signals: signals, Telemetry: tel, Clock: clock,
		}).Methods(),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(t.Context()))
		lines.Stop()
		signals.Stop()
		leases.Stop(t.Context())
		require.NoError(t, r.Close())
	})
	return dial(t, path, "trace")
}

// decided is what a call was told, in a simulation or live. Of what is left a
// sidecar's own memory of a refusal may say what was true when it was made.
type decided struct {
	Allowed      bool   `json:"allowed"`
	DeniedBy     string `json:"denied_by"`
	Band         string `json:"band"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	Remaining    int64  `json:"remaining"`
}

// Shows 5: a simulation of the example rules decides as a live sidecar did.
func TestASimulationEqualsWhatALiveSidecarDecided(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	c, start := liveSidecar(t, clock), clock.Now()
	keys := map[string][]string{
		"identity": {"ua-1", "ua-2"}, "user": {"u", "healthcheck"},
		"crawler": {"a.example.com", "b.example.com", "x.cdn.example.net", "partner.example.org", "very.slow.example", "db.internal", "else.where"},
	}
	rnd := rand.New(rand.NewPCG(1, 2)) // the same load each time
	var trace strings.Builder
	var live []decided
	refused := map[string]int{}
	for range 600 {
		clock.Advance(time.Duration(rnd.IntN(400)) * time.Millisecond)
		rule := []string{"identity", "user", "crawler"}[rnd.IntN(3)]
		key := keys[rule][rnd.IntN(len(keys[rule]))]
		cost := int64(1)
		if rule == "identity" {
			cost = 1 + rnd.Int64N(20)
		}
		fmt.Fprintf(&trace, "%v %s %d %s\n", clock.Now().Sub(start), key, cost, rule)
		p := api.RatelimitParams{Rule: rule, Key: key, Cost: cost}
		d, err := c.RatelimitAcquire(t.Context(), p)
		require.NoError(t, err)
		if d.Grant != "" && rule == "crawler" {
			_, err := client.Call(t.Context(), c, api.RatelimitDone, api.RatelimitGrantParams{Grant: d.Grant})
			require.NoError(t, err)
		}
		if d.Source == "cache" {
			d.Remaining = -1
		}
		refused[d.DeniedBy]++
		live = append(live, decided{d.Allowed, d.DeniedBy, d.Band, d.RetryAfterMS, d.Remaining})
	}
	require.Greater(t, refused["limit"], 50)
	require.Greater(t, refused["deny_list"], 5)

	a := cliWith(t, trace.String(), nil, "rules", "simulate", exampleRules, "--trace", "-", "-o", "json", "--start", start.Format(time.RFC3339Nano))
	require.Equal(t, main.OK, a.code, a.err)
	lines := strings.Split(strings.TrimSpace(a.out), "\n")
	require.Len(t, lines, len(live)+1)
	calls := strings.Split(trace.String(), "\n")
	for i, want := range live {
		var got decided
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &got))
		if want.Remaining < 0 {
			got.Remaining = -1
		}
		require.Equal(t, want, got, "call %d: %s", i+1, calls[i])
	}
}
