package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

func TestEveryCommandShowsAnExampleOfItself(t *testing.T) {
	t.Parallel()
	seen := 0
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		seen++
		require.NotEmpty(t, c.Example, c.CommandPath())
		for line := range strings.Lines(c.Example) {
			require.True(t, strings.HasPrefix(line, "  "), "%s: %q is not indented as the others are", c.CommandPath(), line)
			require.Contains(t, line, c.CommandPath())
		}
		help := cli(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		require.Equal(t, main.OK, help.code, help.err)
		require.Contains(t, help.out, "Examples:\n"+c.Example+"\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				look(sub)
			}
		}
	}
	look(main.Root())
	require.Greater(t, seen, 40)
}

// completed are the words that a shell is told for the last one of a command line, without their descriptions.
func completed(t *testing.T, line ...string) (words []string) {
	t.Helper()
	a := cli(t, append([]string{"__complete"}, line...)...)
	require.Equal(t, main.OK, a.code, a.err)
	for word := range strings.Lines(a.out) {
		if word, _, _ = strings.Cut(strings.TrimSuffix(word, "\n"), "\t"); !strings.HasPrefix(word, ":") {
			words = append(words, word)
		}
	}
	return words
}

func TestCompletionKnowsCommandsFlagsAndTheirValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, first, last string }{
		{"pr", "probe", "probe"},
		{"lock ", "get", "release"},
		{"completion ", "bash", "powershell"},
		{"call lock.", "lock.acquire", "lock.renew"},
		{"describe lock.acq", "lock.acquire", "lock.acquire"},
		{"call --exit", "--exit-code", "--exit-code"},
		{"call -o ", "json", "pretty"},
		{"doctor --output ", "text", "pretty"},
		{"lock list --state ", "held", "waited"},
		{"tail --start ", "first", "new"},
		{"tail --kind ", "breaker", "resumed"},
		{"tail --noun ", "breaker", "stream"},
		{"top --view ", "calls", "trouble"},
		{"bench --algorithm ", "token_bucket", "sliding_window_counter"},
		{"probe ", "live", "redis"},
		{"wait ", "live", "redis"},
	} {
		words := completed(t, strings.Split(c.line, " ")...)
		require.NotEmpty(t, words, c.line)
		require.Equal(t, []string{c.first, c.last}, []string{words[0], words[len(words)-1]}, c.line)
	}
	require.Empty(t, completed(t, "call", "lock.get", ""))
}

// What a shell does by itself is told by the directive: 0 = it completes files, 16 = folders, 4 = nothing.
func TestCompletionTakesOnlyFilesForFiles(t *testing.T) {
	t.Parallel()
	for line, directive := range map[string]string{
		"call --socket ": ":0\n", "serve --config ": ":0\n", "config check ": ":0\n", "rules simulate x --trace ": ":0\n", "exec --lock l -- ": ":0\n",
		"doctor --podinfo ": ":16\n", "call --timeout ": ":4\n", "publish --body ": ":4\n", "methods ": ":4\n", "serve --redis ": ":4\n",
	} {
		require.Equal(t, directive, cli(t, append([]string{"__complete"}, strings.Split(line, " ")...)...).out, line)
	}
}

func TestCompletionAsksTheSidecarForNames(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte("rules: {items: [{name: crawler, algorithm: token_bucket, limits: [{limit: 1, period_ms: 1000}]}]}\n"), 0o600))
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", "embedded", "--config", rules)
	wait(t, s.socket)
	for method, params := range map[string]string{
		"semaphore.acquire": `{"name":"sem","limit":2,"bind":"ttl","ttl_ms":3600000}`,
		"queue.enqueue":     `{"queue":"jobs","id":"1"}`,
		"pool.put":          `{"pool":"accounts","members":[{"id":"m"}]}`,
		"stream.publish":    `{"stream":"orders"}`,
		"breaker.force":     `{"name":"host-1","state":"open"}`,
	} {
		call(t, s.socket, method, params)
	}
	harmful := []string{"a b", "$(reboot)", "`reboot`", "x;y", "a'b", "a\x1b[1m", "a\nb", "-o", "a\tb", `a\b`, "~root", "a*", "#a", "a&b", "a|b", "a>b", "!a"}
	c := dial(t, s.socket, "test")
	for _, name := range append(harmful, "nightly", "host:1/é_2@x-y") {
		_, err := c.LockAcquire(t.Context(), name, client.LockOptions{Bind: api.BindTTL, TTL: time.Hour})
		require.NoError(t, err)
	}
	for line, want := range map[string][]string{
		"lock get ": {"host:1/é_2@x-y", "nightly"}, "lock release ni": {"nightly"}, "explain lock nig": {"nightly"}, "exec --lock ni": {"nightly"},
		"semaphore get ": {"sem"}, "queue get ": {"jobs"}, "pool get ": {"accounts"}, "pool list ": {"accounts"}, "stream get ": {"orders"},
		"breaker get ": {"host-1"}, "breaker reset h": {"host-1"}, "breaker reset x": nil, "breaker list --pool ": {"accounts"},
		"explain breaker ": {"host-1"}, "explain pool ": {"accounts"}, "explain permit ": {"accounts"}, "explain permit accounts --rule ": {"crawler"},
		"explain --rule ": {"crawler"}, "bench --rule ": {"crawler"}, "dead list --stream ": {"orders"}, "tail --stream ": {"orders"},
		"publish --stream ": {"orders"}, "lock get nightly ": nil,
	} {
		words := strings.Split(line, " ")
		at := 2 // where a command's flags may be
		if slices.Contains([]string{"exec", "explain", "bench", "tail", "publish"}, words[0]) {
			at = 1
		}
		// What is not listed within half a second is not offered, and a busy machine may need longer.
		var offered []string
		require.Eventually(t, func() bool {
			offered = completed(t, slices.Insert(slices.Clone(words), at, "--socket", s.socket)...)
			return len(offered) > 0 || len(want) == 0
		}, limit, 10*time.Millisecond, line)
		require.ElementsMatch(t, want, offered, line)
	}
	require.Empty(t, completed(t, "lock", "get", "--socket", socketIn(t), ""), "nobody answers")
}

func TestEachShellHasItsScript(t *testing.T) {
	t.Parallel()
	for shell, line := range map[string]string{
		"bash": "-F __start_sidecar sidecar", "zsh": "#compdef sidecar", "fish": "complete -c sidecar", "powershell": "Register-ArgumentCompleter",
	} {
		a := cli(t, "completion", shell)
		require.Equal(t, main.OK, a.code, a.err)
		require.Contains(t, a.out, line)
		require.Contains(t, a.out, " __complete ")
	}
	require.Equal(t, main.Usage, cli(t, "completion", "tcsh").code)
}
