package main_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// ruled is a configuration with these rules.
func ruled(names ...string) string {
	if len(names) == 0 {
		return "rules:\n  items: []\n"
	}
	return "rules:\n  " + strings.ReplaceAll(strings.TrimSpace(items(names...)), "\n", "\n  ") + "\n"
}

// items is a file of rules.
func items(names ...string) string {
	text := "items:\n"
	for _, n := range names {
		text += "  - {name: " + n + ", algorithm: token_bucket, limits: [{limit: 5, period_ms: 1000}]}\n"
	}
	return text
}

func put(t testing.TB, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// replace is what an editor or a deployment does: another file under the name.
func replace(t testing.TB, file, text string) {
	t.Helper()
	put(t, file+".new", text)
	require.NoError(t, os.Rename(file+".new", file))
}

// mounted is a folder as Kubernetes mounts a ConfigMap. Swap brings the next version.
type mounted struct {
	dir     string
	version int
}

func (m *mounted) swap(t testing.TB, files map[string]string) {
	t.Helper()
	m.version++
	next := "..v" + string(rune('0'+m.version))
	require.NoError(t, os.Mkdir(filepath.Join(m.dir, next), 0o700))
	for name, text := range files {
		put(t, filepath.Join(m.dir, next, name), text)
		if link := filepath.Join(m.dir, name); m.version == 1 {
			require.NoError(t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
	old, _ := os.Readlink(filepath.Join(m.dir, "..data"))
	require.NoError(t, os.Symlink(next, filepath.Join(m.dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data")))
	if old != "" {
		require.NoError(t, os.RemoveAll(filepath.Join(m.dir, old)))
	}
}

// reloading starts a sidecar on the embedded store with this file.
func reloading(t testing.TB, file string, env ...string) *sidecar {
	t.Helper()
	s := serve(t, socketIn(t), append([]string{noGrace, "COXSWAIN_CONFIG=" + file}, env...), "--redis", "embedded")
	wait(t, s.socket)
	return s
}

// knows waits until a rule is in force, or is not.
func (s *sidecar) knows(t testing.TB, rule string, want bool) {
	t.Helper()
	var a answer
	require.Eventually(t, func() bool {
		a = cli(t, "call", "--socket", s.socket, "ratelimit.acquire", `{"rule":"`+rule+`","key":"k"}`)
		return (a.code == main.OK) == want
	}, limit, 5*time.Millisecond, "rule %s: want %v", rule, want)
	if !want {
		require.Contains(t, a.err, "NOT_FOUND: ")
	}
}

// shows waits until a page has a text.
func (s *sidecar) shows(t *testing.T, path, text string) {
	t.Helper()
	var body string
	require.Eventually(t, func() bool {
		body = page(t, s, path)
		return strings.Contains(body, text)
	}, limit, 5*time.Millisecond, "%s lacks %q", path, text)
}

// However the file changes: with an invalid file the old rules stay in force and the log has the reason; a valid file is applied.
func TestAChangedConfigurationIsAppliedAndAnInvalidOneIsNot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T) (file string, next func(text string)){
		"written in place": func(t *testing.T) (string, func(string)) {
			t.Helper()
			file := t.TempDir() + "/c.yaml"
			return file, func(text string) { put(t, file, text) }
		},
		"renamed over": func(t *testing.T) (string, func(string)) {
			t.Helper()
			file := t.TempDir() + "/c.yaml"
			return file, func(text string) { replace(t, file, text) }
		},
		"removed and put back": func(t *testing.T) (string, func(string)) {
			t.Helper()
			file := t.TempDir() + "/c.yaml"
			return file, func(text string) {
				_ = os.Remove(file)
				put(t, file, text)
			}
		},
		"a ConfigMap's ..data swapped": func(t *testing.T) (string, func(string)) {
			t.Helper()
			m := &mounted{dir: t.TempDir()}
			return m.dir + "/c.yaml", func(text string) { m.swap(t, map[string]string{"c.yaml": text}) }
		},
		"a ConfigMap's ..data swapped behind a link": func(t *testing.T) (string, func(string)) {
			t.Helper()
			m := &mounted{dir: t.TempDir()}
			link := t.TempDir() + "/conf"
			require.NoError(t, os.Symlink(m.dir, link))
			return link + "/c.yaml", func(text string) { m.swap(t, map[string]string{"c.yaml": text}) }
		},
		"its folder swapped by a link": func(t *testing.T) (string, func(string)) {
			t.Helper()
			link := t.TempDir() + "/conf"
			return link + "/c.yaml", func(text string) {
				dir := t.TempDir()
				put(t, dir+"/c.yaml", text)
				require.NoError(t, os.Symlink(dir, link+".new"))
				require.NoError(t, os.Rename(link+".new", link))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, next := change(t)
			next(ruled("one"))
			s := reloading(t, file)
			s.knows(t, "one", true)
			next(ruled("two"))
			s.knows(t, "two", true)
			s.knows(t, "one", false)
			s.shows(t, "/metrics", "\ncoxswain_config_reload_ok 1\n") // a moment after the rules are in force

			next("rules:\n  items:\n    - {name: three, algorithm: token_bucket}\n")
			s.shows(t, "/metrics", "\ncoxswain_config_reload_ok 0\n")
			s.knows(t, "two", true)
			require.Contains(t, page(t, s, "/metrics"), "\n"+`coxswain_config_reloads_total{outcome="invalid"} `)
			s.logs(t, `"level":"ERROR","msg":"the configuration was not reloaded; the old one stays in force","err":"`+
				file+`:3: rules.items[0].limits: missing; `)
			s.shows(t, "/readyz?verbose", "; warning: the last reload was refused: "+file+":3: rules.items[0].limits: missing; ")
			code, body := get(t, s, "/readyz")
			require.Equal(t, http.StatusOK, code)
			require.NotContains(t, body, "reload", "it shows only in verbose")

			next(ruled("four"))
			s.knows(t, "four", true)
			s.knows(t, "two", false)
			s.shows(t, "/metrics", "\ncoxswain_config_reload_ok 1\n")
		})
	}
}

func TestAFileThatIsRemovedLeavesTheRulesInForceUntilItIsBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/mount"
	require.NoError(t, os.Mkdir(dir, 0o700))
	put(t, dir+"/c.yaml", ruled("one"))
	s := reloading(t, dir+"/c.yaml")
	require.NoError(t, os.Remove(dir+"/c.yaml"))
	s.shows(t, "/metrics", "\ncoxswain_config_reload_ok 0\n")
	s.logs(t, `"level":"WARN","msg":"the configuration was not reloaded; the old one stays in force","err":"`+
		dir+`/c.yaml: cannot be read: no such file or directory`)
	s.knows(t, "one", true)
	put(t, dir+"/c.yaml", ruled("two"))
	s.knows(t, "two", true)

	require.NoError(t, os.RemoveAll(dir)) // its folder too
	s.shows(t, "/metrics", "\ncoxswain_config_reload_ok 0\n")
	require.NoError(t, os.Mkdir(dir, 0o700))
	put(t, dir+"/c.yaml", ruled("three"))
	s.knows(t, "three", true)
}

func TestRulesFilesAreFollowedWhereverTheyAre(t *testing.T) {
	t.Parallel()
	file, rules := t.TempDir()+"/c.yaml", t.TempDir()
	put(t, file, "rules:\n  files: ["+rules+"/a.yaml]\n")
	put(t, rules+"/a.yaml", items("one"))
	s := reloading(t, file)
	s.knows(t, "one", true)
	replace(t, rules+"/a.yaml", items("two"))
	s.knows(t, "two", true)

	late := t.TempDir() + "/later/b.yaml"
	put(t, file, "rules:\n  files: ["+rules+"/a.yaml, "+late+"]\n")
	s.shows(t, "/readyz?verbose", "rules.files[1]: "+late+" cannot be read: ")
	s.knows(t, "two", true)
	require.NoError(t, os.Mkdir(filepath.Dir(late), 0o700))
	put(t, late, items("three"))
	s.knows(t, "three", true)
	s.knows(t, "two", true)
}

func TestWhatNeedsARestartKeepsItsValueAndIsNamed(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	s := reloading(t, file)
	put(t, file, "socket: {write_timeout: 7s}\nlimits: {max_depth: 9}\ntelemetry: {log_level: debug}\n"+ruled("two"))
	s.knows(t, "two", true)
	s.shows(t, "/readyz?verbose", "; warning: a restart is needed for socket.write_timeout, limits.max_depth")
	s.logs(t, `"restart_for":"socket.write_timeout, limits.max_depth"`)
	dial(t, s.socket, "introduced")
	s.logs(t, `"level":"DEBUG","msg":"client introduced itself"`)
	put(t, file, ruled("three"))
	s.knows(t, "three", true)
	require.Eventually(t, func() bool { return !strings.Contains(page(t, s, "/readyz?verbose"), "restart") }, limit, 5*time.Millisecond)
}

func TestReadinessModeChangesWithoutARestart(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, "redis: {url: redis://127.0.0.1:1}\n")
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_CONFIG=" + file})
	s.logs(t, `"msg":"serving"`)
	require.Eventually(t, func() bool { return status(t, s, "/readyz") == http.StatusServiceUnavailable }, limit, 5*time.Millisecond)
	put(t, file, "redis: {url: redis://127.0.0.1:1}\nreadiness: {mode: always}\n")
	s.shows(t, "/readyz", "degraded: redis: redis cannot be reached")
	require.Equal(t, http.StatusOK, status(t, s, "/readyz"))
	require.Equal(t, main.OK, cli(t, "probe", "ready", "--socket", s.socket, "--timeout", limit.String()).code)
	put(t, file, "redis: {url: redis://127.0.0.1:1}\n")
	require.Eventually(t, func() bool { return status(t, s, "/readyz") == http.StatusServiceUnavailable }, limit, 5*time.Millisecond)
}

func TestSIGHUPReadsAgain(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	socket := socketIn(t)
	p, log := spawn(t, []string{noGrace}, "serve", "--socket", socket, "--redis", "embedded", "--http", "", "--config", file)
	wait(t, socket)
	reloads := func() int { return strings.Count(log.String(), `"msg":"configuration reloaded"`) }
	require.Zero(t, reloads())
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { return reloads() == 1 }, limit, time.Millisecond, "though nothing has changed")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), log)
}

// loaded is an app of this file on the embedded store.
func loaded(t testing.TB, file string) *main.App {
	t.Helper()
	a, err := main.LoadApp(config.Sources{File: file, Env: []string{
		"COXSWAIN_SOCKET=" + socketIn(t), "COXSWAIN_HTTP_ADDR=127.0.0.1:0", "COXSWAIN_REDIS_URL=embedded", noGrace,
	}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return a
}

func TestTheRevisionOfRulesNeverGoesBack(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	aged := func(ms int64) {
		t.Helper()
		require.NoError(t, os.Chtimes(file, time.Time{}, time.UnixMilli(ms)))
	}
	aged(1_700_000_000_000)
	a := loaded(t, file)
	require.NoError(t, a.Start())
	defer a.Stop()
	require.EqualValues(t, 1_700_000_000_000, a.Revision())
	change := func(ms int64, rule string) {
		t.Helper()
		put(t, file+".new", ruled(rule))
		require.NoError(t, os.Chtimes(file+".new", time.Time{}, time.UnixMilli(ms)))
		require.NoError(t, os.Rename(file+".new", file))
		require.NoError(t, a.Reload())
		require.Equal(t, []string{rule}, a.RuleNames())
	}
	change(1_600_000_000_000, "two")
	require.EqualValues(t, 1_700_000_000_001, a.Revision(), "the file is older, and yet its rules are the newer ones")
	change(1_800_000_000_000, "three")
	require.EqualValues(t, 1_800_000_000_000, a.Revision())
	change(1_900_000_000_000, "three")
	require.EqualValues(t, 1_800_000_000_000, a.Revision(), "the same rules are the same version")
}

func TestAReloadIsAnEvent(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	a := loaded(t, file)
	require.NoError(t, a.Start())
	defer a.Stop()
	events := make(chan coord.Event, 16)
	cancel := a.Events().Subscribe([]coord.EventKind{coord.EventReloaded}, func(e coord.Event) { events <- e })
	defer cancel()
	next := func() (string, string) {
		t.Helper()
		select {
		case e := <-events:
			return e.Reason, e.Detail
		case <-time.After(limit):
			t.Fatal("no event")
			return "", ""
		}
	}
	require.NoError(t, a.Reload())
	reason, detail := next()
	require.Equal(t, "ok", reason)
	require.Equal(t, "1 rules in force", detail)
	replace(t, file, "htp: {}\nx: {}\n")
	reason, detail = next()
	require.Equal(t, "invalid", reason)
	require.Equal(t, file+":1: htp: unknown key; did you mean http? (and 1 more, see the log)", detail)
}

func TestAFileThatLostItsBytesIsTakenForOneBeingWritten(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	a := loaded(t, file)
	require.NoError(t, a.Start())
	defer a.Stop()
	put(t, file, "")
	require.EqualError(t, a.Reload(), file+": the file is empty, perhaps since it is being written; to have no rules, write an empty list of rules")
	require.Equal(t, []string{"one"}, a.RuleNames())
	put(t, file, ruled())
	require.NoError(t, a.Reload())
	require.Empty(t, a.RuleNames())
	put(t, file, "")
	require.Error(t, a.Reload())
}

func TestAFileWrittenInPlaceIsReadOnceItNoLongerChanges(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one")) // valid, and yet only the beginning
	pieces := []string{"    - {name: two, algorithm: token_bucket, ", "limits: [{limit: 5, period_ms: 1000}]}\n", "# the end\n"}
	whole := ruled("one") + strings.Join(pieces, "")
	looks := 0
	require.True(t, main.Settled(file, func() bool {
		looks++
		if len(pieces) == 0 {
			return true
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(pieces[0])
		require.NoError(t, err)
		require.NoError(t, f.Close())
		pieces = pieces[1:]
		return true
	}))
	require.Equal(t, 4, looks)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, whole, string(got))

	looks = 0
	require.True(t, main.Settled(file, func() bool { // the size stands, and the time does not
		looks++
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Unix(int64(min(looks, 3)), 0)))
		return true
	}))
	require.Equal(t, 4, looks)
	looks = 0
	require.True(t, main.Settled(file, func() bool { // it comes and goes
		looks++
		if looks%2 == 1 {
			return os.Remove(file) == nil
		}
		put(t, file, whole)
		return true
	}), "one that never stands is read all the same")
	require.Equal(t, 10, looks)
	require.False(t, main.Settled(file, func() bool { return false }), "the sidecar stops")
}

func TestAConfigurationFromAPipeIsReadOnce(t *testing.T) {
	t.Parallel()
	pipe := t.TempDir() + "/pipe"
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	go func() {
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString(ruled("one"))
			_ = f.Close()
		}
	}()
	a := loaded(t, pipe)
	require.NoError(t, a.Start())
	defer a.Stop()
	require.ErrorContains(t, a.Reload(), "cannot be read again; restart the sidecar to change it")
	require.Equal(t, []string{"one"}, a.RuleNames())
}

func TestStartStopAndReloadAreSafeInAnyOrder(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	never := loaded(t, file)
	require.EqualError(t, never.Reload(), "reload: the sidecar does not serve")
	never.Stop()
	for range 10 {
		a := loaded(t, file)
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.Start() })
		for range 3 {
			wg.Go(func() { _ = a.Reload() })
			wg.Go(func() { replaceQuietly(file) })
		}
		wg.Go(a.Stop)
		wg.Wait()
		a.Stop()
		require.Error(t, a.Reload())
	}
}

// replaceQuietly changes a file beside others that do the same.
func replaceQuietly(file string) {
	if f, err := os.CreateTemp(filepath.Dir(file), "next"); err == nil {
		_, _ = f.WriteString(ruled("two"))
		_ = f.Close()
		_ = os.Rename(f.Name(), file)
	}
}

func TestAllFoldersOnTheWayToAFileAreWatched(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(p string) string { return filepath.Join(top, p) }
	require.NoError(t, os.MkdirAll(at("mount/..v1"), 0o700))
	put(t, at("mount/..v1/c.yaml"), "")
	require.NoError(t, os.Symlink("..v1", at("mount/..data")))
	require.NoError(t, os.Symlink("..data/c.yaml", at("mount/c.yaml")))
	require.NoError(t, os.Symlink(at("mount"), at("link")))
	require.NoError(t, os.Symlink("round", at("round")))
	for file, want := range map[string][]string{
		"mount/..v1/c.yaml": {"mount/..v1"},
		"mount/c.yaml":      {"mount", "mount", "mount/..v1"},
		"link/c.yaml":       {".", "mount", "mount", "mount/..v1"},
		"gone/c.yaml":       {"."},
		"mount/gone.yaml":   {"mount"},
	} {
		for i := range want {
			want[i] = at(want[i])
		}
		require.Equal(t, want, main.Folders(at(file)), file)
	}
	require.Equal(t, []string{top}, slices.Compact(main.Folders(at("round"))), "a link to itself")
}
