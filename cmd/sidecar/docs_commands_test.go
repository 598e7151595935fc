package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/doctest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// command is a line of a page's fenced block that runs the sidecar.
var command = regexp.MustCompile(`^(?:.*\| |kubectl .* -- )?(?:bin/|/|\./)?sidecar ([a-z]+)`)

// commandsOf are the command lines that a page shows, without serve and tail, which do
// not end. In the reference of the commands only what is indented is one.
func commandsOf(page, text string) (lines []string) {
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if page == reference && !strings.HasPrefix(line, "  ") {
			continue
		}
		line = strings.TrimSpace(line)
		m := command.FindStringSubmatch(line)
		if !fenced || m == nil || m[1] == "serve" || m[1] == "tail" {
			continue
		}
		if _, in, ok := strings.Cut(line, " -- /sidecar "); ok && strings.HasPrefix(line, "kubectl") {
			line = "sidecar " + in // what the pod is asked
		}
		lines = append(lines, strings.ReplaceAll(line, "bin/sidecar ", "sidecar "))
	}
	return lines
}

// Every command that a page shows does what it says, given what the pages show:
// the configuration of the README, the example's rules, and two programs.
func TestEveryCommandThatAPageShowsRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(exe, filepath.Join(dir, "sidecar")))
	rules, err := os.ReadFile(exampleRules)
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	whole := doctest.Blocks(string(readme), "yaml")
	require.Len(t, whole, 1)
	put("rules.yaml", string(rules), 0o600)
	put("coxswain.yaml", whole[0], 0o600)
	for _, folder := range []string{".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	put("pages.yaml", "rules: {files: [rules.yaml]}\n", 0o600)
	for _, program := range []string{"report.sh", "migrate"} {
		put(program, "#!/bin/sh\ntest -n \"$COXSWAIN_LOCK_FENCE\"\n", 0o700)
	}
	of := func(file string) *sidecar { return ready(t, "COXSWAIN_CONFIG="+filepath.Join(dir, file)) }
	readmes, others := of("coxswain.yaml"), of("pages.yaml")

	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	ran := make(map[string]bool)
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		s := others
		if page == "../../README.md" {
			s = readmes
		}
		for _, line := range commandsOf(page, string(text)) {
			if strings.HasPrefix(line, "sidecar bench") {
				line += " --duration 100ms" // the last one counts
			}
			if ran[s.socket+line] { // another page shows it too
				continue
			}
			ran[s.socket+line] = true
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir = dir
			cmd.Env = asMain("HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+os.TempDir(),
				"COXSWAIN_SOCKET="+s.socket, "COXSWAIN_REDIS_URL="+redistest.URL(t), "COXSWAIN_HTTP_ADDR="+s.httpAddr(t))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", page, line, out)
			cli(t, "call", "--socket", s.socket, "lock.force_release", `{"name":"nightly"}`) // one example keeps it
		}
	}
	require.Greater(t, len(ran), 60)
	require.Equal(t, main.OK, cli(t, "rules", "lint", filepath.Join(dir, "coxswain.yaml")).code)
}
