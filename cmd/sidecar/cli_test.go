package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestBadUsageIsExitCode2AndNamesTheRemedy(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"frob":                "unknown command \"frob\" for \"sidecar\"\n\nDid you mean this?\n    probe\n\nUsage: sidecar; more: sidecar --help\n",
		"serve x":             "unknown command \"x\" for \"sidecar serve\"\nUsage: sidecar serve [flags]; more: sidecar serve --help\n",
		"serve --sokcet x":    "unknown flag: --sokcet; did you mean --socket?\nUsage: sidecar serve [flags]; more: sidecar serve --help\n",
		"call --otput json x": "unknown flag: --otput; did you mean --output?\nUsage: sidecar call METHOD [JSON|-] [flags]; more: sidecar call --help\n",
		"probe live --xyzzy":  "unknown flag: --xyzzy\nUsage: sidecar probe live|ready|redis [flags]; more: sidecar probe --help\n",
		"call":                "accepts between 1 and 2 arg(s), received 0\nUsage: sidecar call METHOD [JSON|-] [flags]; more: sidecar call --help\n",
		"call --timeout x a": "invalid argument \"x\" for \"--timeout\" flag: time: invalid duration \"x\"\n" +
			"Usage: sidecar call METHOD [JSON|-] [flags]; more: sidecar call --help\n",
		"probe":              "accepts 1 arg(s), received 0\nUsage: sidecar probe live|ready|redis [flags]; more: sidecar probe --help\n",
		"probe steady":       "invalid argument \"steady\" for \"sidecar probe\"\nUsage: sidecar probe live|ready|redis [flags]; more: sidecar probe --help\n",
		"config":             "config: name a command: check or print\n",
		"config frob":        "config frob: no such command; use check or print\n",
		"describe lok.get":   "lok.get: no such method; did you mean lock.get?\n",
		"describe x":         "x: no such method; sidecar methods lists them\n",
		"config check /none": "/none: cannot be read: no such file or directory; give the path of a YAML file\n",
	} {
		a := cli(t, strings.Fields(line)...)
		require.Equal(t, main.Usage, a.code, line)
		require.Equal(t, want, a.err, line)
		require.Empty(t, a.out, line)
	}
}

func TestAConfigurationThatIsNotValidIsTheLastLineOfTheLog(t *testing.T) {
	t.Parallel()
	a := cli(t, "serve", "--log-level", "loud")
	require.Equal(t, main.Usage, a.code)
	require.Equal(t, []string{`--log-level: telemetry.log_level: "loud" is unknown; write debug, info, warn or error`}, fatal(t, a.err))
}

func TestTheExitCodesAreInTheHelp(t *testing.T) {
	t.Parallel()
	// No argument is not nil, for which cobra takes those of the test binary.
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		a := cli(t, args...)
		require.Equal(t, main.OK, a.code)
		require.Contains(t, a.out, "Exit codes:\n  0    the command succeeded\n  1    the call failed")
		require.NotContains(t, a.out, "demo-holder")
	}
}

func TestMethodsAndDescribeNeedNoSidecar(t *testing.T) {
	t.Parallel()
	a := cli(t, "methods")
	require.Equal(t, main.OK, a.code)
	require.Equal(t, len(api.Methods()), strings.Count(a.out, "\n"))
	for _, m := range api.Methods() {
		require.Regexp(t, `(?m)^`+m.Name+` +\S`, a.out)
		d := cli(t, "describe", m.Name)
		require.Equal(t, main.OK, d.code)
		require.True(t, strings.HasPrefix(d.out, m.Name+"\n  "+m.Summary+"\n  since "+m.Since+"; "), d.out)
		for _, f := range api.Fields(m.Params) {
			require.Regexp(t, `(?m)^  `+f.Name+` +`+string(f.Kind)+` `, d.out)
		}
	}
}

func TestADescriptionSaysWhatACallerMustKnow(t *testing.T) {
	t.Parallel()
	out := cli(t, "describe", "lock.acquire").out
	require.Contains(t, out, "; not idempotent: repeat it only with a _request_id\n")
	require.Regexp(t, `\n  name +str +required +the lock\n`, out)
	require.Regexp(t, `\n  ttl_ms +int +default 30000, 100 to 86400000 +milliseconds`, out)
	require.Regexp(t, `\n  bind +str +default session, session\|ttl +`, out)
	require.Regexp(t, `\n  held_by +map +the holder, if the lock is not acquired\n    client +str +the client program\n`, out)
	require.Contains(t, cli(t, "describe", "lock.release").out, "idempotent; also as a notification\n")
	require.Contains(t, cli(t, "describe", "rpc.cancel").out, "idempotent; only as a notification\n")
	require.Equal(t, 2, strings.Count(cli(t, "describe", "rpc.describe").out, " fields "), "what holds itself is shown once")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^sidecar \S+( \([0-9a-f]{12}\))?, protocol 1, go1\.\S+ linux/\S+\n$`, cli(t, "version").out)
	require.Equal(t, cli(t, "version"), cli(t, "--version"))
}

func TestConfigCheckShowsEveryMistakeRulesIncluded(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("rules:\n  items:\n    - name: a\n      algorithm: token_bucket\n      limits:\n        - {limit: 80, period_ms: 600000}\n")
	require.Equal(t, answer{main.OK, file + " is valid: 1 rules\n", ""}, cli(t, "config", "check", file))

	write(`redis:
  pol: 5
rules:
  items:
    - name: a
      algorithm: token_bucket
      limits:
        - limit: 80
          period_ms: 0
        - {limit: 1, period_ms: 9223372036854775807}
`)
	a := cli(t, "config", "check", file)
	require.Equal(t, main.Usage, a.code)
	require.Empty(t, a.out)
	require.Contains(t, a.err, file+":2: redis.pol: unknown key; did you mean pool?\n      2 |   pol: 5\n")
	require.Contains(t, a.err, file+":9: rules.items[0].limits[0].period_ms: ")
	require.Contains(t, a.err, "      9 |           period_ms: 0\n")
	require.Contains(t, a.err, file+":10: rules.items[0].limits[1].period_ms: ", "a period past any duration is no short one")
	require.Equal(t, []string{strings.TrimSuffix(a.err, "\n")}, fatal(t, cli(t, "serve", "--config", file).err), "serve says the same")
}

func TestConfigPrintShowsWhatIsInForceWithoutSecrets(t *testing.T) {
	t.Parallel()
	a := cliWith(t, "", []string{"COXSWAIN_REDIS_URL=redis://u:hunter2@h:1", "COXSWAIN_HTTP_ADDR=:1"}, "config", "print", "--http", "")
	require.Equal(t, main.OK, a.code, a.err)
	require.NotContains(t, a.out, "hunter2")
	require.Contains(t, a.out, "  url: redis://xxxxx@h:1 # COXSWAIN_REDIS_URL, set by COXSWAIN_REDIS_URL\n")
	require.Contains(t, a.out, "  addr: \"\" # COXSWAIN_HTTP_ADDR, set by --http\n")
	require.Contains(t, a.out, "  log_level: info # COXSWAIN_TELEMETRY_LOG_LEVEL\n")
}
