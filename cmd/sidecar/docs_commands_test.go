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

// ends has a command end that would go on for ever: tail after a moment, serve before it begins, once its flags were read.
var ends = map[string]string{"tail": " --timeout 200ms", "serve": " --help"}

// commandsOf are the command lines that a page shows. In the reference of the commands only what is indented is one.
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
		if !fenced || m == nil {
			continue
		}
		line, _, _ = strings.Cut(line, "  #")
		line += ends[m[1]]
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

// What a page shows of a configuration is one. Files that it names are the reader's.
func TestTheConfigurationsOfThePagesAreValid(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range doctest.Blocks(string(text), "yaml") {
			if !strings.HasPrefix(block, "rules:\n  items:") && !strings.HasPrefix(block, "breakers:") {
				continue
			}
			file := filepath.Join(t.TempDir(), "coxswain.yaml")
			require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
			a := cli(t, "config", "check", file)
			require.Equal(t, main.OK, a.code, "%s:\n%s\n%s%s", page, block, a.out, a.err)
			checked++
		}
	}
	require.GreaterOrEqual(t, checked, 5)
}

// elsewhere are the shell lines of pages that are not the sidecar's, by how they begin, and who carries them out.
var elsewhere = map[string]string{
	"go get ":                            "whoever adds the client to a module",
	"git clone https://":                 "hack/quickstart-test.sh",
	"cd coxswain":                        "hack/quickstart-test.sh",
	"export COXSWAIN_SOCKET=":            "hack/quickstart-test.sh",
	"python3 first":                      "hack/quickstart-test.sh",
	"make build && bin/sidecar serve":    "hack/quickstart-test.sh",
	"make ":                              "itself, in CI; internal/doctest knows the targets",
	"BASE=HEAD~1 make bench":             "itself, before a release; hack/benchonce.sh runs each benchmark",
	"cd bench && go run . -footprint":    "whoever measures anew; the page has its figures",
	"kubectl ":                           "internal/kubetest",
	"helm ":                              "internal/kubetest",
	"ruby examples/":                     "hack/langs/run.sh",
	"php examples/":                      "hack/langs/run.sh",
	"perl examples/":                     "hack/langs/run.sh",
	"lua5.3 examples/":                   "hack/langs/run.sh",
	"sh examples/":                       "hack/langs/run.sh",
	"npm install ./bin/node/":            "hack/node.sh, which installs it in a project",
	"pip install bin/python/":            "hack/python.sh, which imports the wheel without pip",
	"cd examples/scrapy && ":             "clients/python/tests/test_scrapy.py",
	"docker run --read-only --cap-drop ": "hack/test-image.sh",
	"printf 'rules: {files: ":            "this test, which puts such a file",
}

// A line of a page's shell that nobody runs rots.
func TestEveryShellLineOfThePagesIsRunBySomething(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	used := map[string]bool{}
	for _, page := range append(pages, "../../README.md") {
		if page == "../../docs/kubernetes.md" {
			continue // a node runs all of it
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range doctest.Blocks(string(text), "sh") {
			for line := range strings.Lines(block) {
				line = strings.TrimSpace(line)
				known := line == "" || command.MatchString(line)
				for begins := range elsewhere {
					if strings.HasPrefix(line, begins) {
						known, used[begins] = true, true
					}
				}
				require.True(t, known, "%s: nothing runs this line; say in elsewhere what does: %s", page, line)
			}
		}
	}
	require.Len(t, used, len(elsewhere), "elsewhere has lines that no page has: %v", used)
}
