package main_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// busy is a sidecar with something in each view.
func busy(t *testing.T) *sidecar {
	t.Helper()
	s := ready(t)
	refused(t, s, "example.com")
	call(t, s.socket, "lock.acquire", `{"name":"nightly","bind":"ttl","ttl_ms":3600000}`)
	call(t, s.socket, "lock.acquire", `{"name":"a\u001b[2J\nb","bind":"ttl","ttl_ms":3600000}`)
	call(t, s.socket, "semaphore.acquire", `{"name":"exports","limit":2,"bind":"ttl","ttl_ms":3600000}`)
	call(t, s.socket, "pool.put", `{"pool":"agents","members":[{"id":"x"},{"id":"y"}]}`)
	call(t, s.socket, "breaker.report", `{"name":"api.example.com","outcome":"failure"}`)
	call(t, s.socket, "queue.enqueue", `{"queue":"jobs","id":"1"}`)
	published(t, s, "x")
	call(t, s.socket, "stream.groups", `{"stream":"s"}`)
	require.Equal(t, main.Failed, cli(t, "call", "--socket", s.socket, "stream.ack", `{"stream":"s","group":"none","id":"x"}`).code)
	return s
}

func TestTopPrintsAllViewsAsText(t *testing.T) {
	t.Parallel()
	s := busy(t)
	var a answer
	require.Eventually(t, func() bool { // once all that came before is counted, and all connections but its own are counted out
		s.shows(t, "/metrics", "\ncoxswain_connections 0\n")
		a = cli(t, "top", "--socket", s.socket)
		return strings.Contains(a.out, "  connections 1  ") && regexp.MustCompile(`(?m)^stream\.ack `).MatchString(a.out)
	}, limit, 10*time.Millisecond)
	require.Equal(t, main.OK, a.code, a.err)
	require.NotContains(t, a.out, "\x1b")
	for _, want := range []string{
		`^sidecar \S+  pid \d+  up \S+  \d+\.\d calls/s  connections 1  waiting 0  held 0`,
		`(?m)^redis up standalone 127\.0\.0\.1:\d+  `,
		`(?m)^CALLS\nMETHOD +PER S +MEAN +P50 +P99 +CALLS +ERRORS\n`,
		`(?m)^ratelimit\.acquire +\d+\.\d +\S+ +\S+ +\S+ +2 +0$`,
		`(?m)^inline +\d+\.\d +\d+\.\d +1 +1 +0`,
		`(?m)^example\.com +inline +1 +0  limit$`,
		`(?m)^nightly +lock +1 +0 +(1h0m|59m\d*s?) +sidecar call \S+$`,
		`(?m)^a\\x1b\[2J\\nb +lock +1 `,
		`(?m)^exports +semaphore +1 +0 `,
		`(?m)^agents +2 +2 +0 +0 +0 +0 +0$`,
		`(?m)^api\.example\.com +closed `,
		`(?m)^jobs +1 +0 +0 `,
		`(?m)^s +1 +0 +0 `,
	} {
		require.Regexp(t, want, a.out)
	}
}

// Where the keys of others are in the way, the first page of a list has no rows and is not the last.
func TestTopFindsWhatIsAmongManyKeys(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	fill := `for i = 1, 30000 do redis.call('SET', 'coxswain:other:' .. i, '') end`
	require.ErrorIs(t, redis.Client(t).Eval(t.Context(), fill, nil).Err(), goredis.Nil)
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", redis.URL())
	wait(t, s.socket)
	for i := range 3 {
		call(t, s.socket, "lock.acquire", fmt.Sprintf(`{"name":"nightly-%d","bind":"ttl","ttl_ms":3600000}`, i))
	}
	a := cli(t, "top", "--socket", s.socket, "--view", "locks")
	require.Equal(t, main.OK, a.code, a.err)
	for i := range 3 {
		require.Regexp(t, fmt.Sprintf(`(?m)^nightly-%d +lock +1 `, i), a.out)
	}
	require.NotContains(t, a.out, "still looking")

	m := topOn(t, s)
	m.types(t, "4")
	m.fits(t, 80, 24, "nightly-0")
	m.fits(t, 80, 24, "nightly-1")
	m.fits(t, 80, 24, "nightly-2")
	m.types(t, "q")
	m.left(t, "0")
}

func TestTopPrintsOneViewSeveralTimes(t *testing.T) {
	t.Parallel()
	s := busy(t)
	a := cli(t, "top", "--socket", s.socket, "-n", "2", "--interval", "100ms", "--view", "locks")
	require.Equal(t, main.OK, a.code, a.err)
	require.Equal(t, 2, strings.Count(a.out, "\nLOCKS\n"))
	require.Equal(t, 2, strings.Count(a.out, "\nnightly "))
	require.NotContains(t, a.out, "CALLS")
}

func TestTopSaysHowItIsUsed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"top --view lokcs": "--view lokcs is unknown; write calls, limits, keys, locks, pools, breakers, queues, streams or trouble\n" +
			"Usage: sidecar top [flags]; more: sidecar top --help\n",
		"top --interval 99ms":  "--interval 99ms is too short; use 100ms or more\n",
		"top -n -1":            "-n -1 is negative; use 0 or more\n",
		"top --socket /nobody": "cannot reach the sidecar at /nobody: there is no such file; start it with sidecar serve, or name its socket with --socket or COXSWAIN_SOCKET\n",
	} {
		a := cli(t, strings.Fields(line)...)
		require.Equal(t, want, a.err, line)
		require.NotEqual(t, main.OK, a.code, line)
	}
	closed := ready(t, "COXSWAIN_SOCKET_ADMIN_ENABLED=false")
	a := cli(t, "top", "--socket", closed.socket)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "PERMISSION_DENIED")
}

// resize gives a terminal a size, of which its programs are told.
func (m terminal) resize(t *testing.T, width, height uint16) {
	t.Helper()
	raw, err := m.keys.SyscallConn() // Fd would make reads block
	require.NoError(t, err)
	var failed error
	require.NoError(t, raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	}))
	require.NoError(t, failed)
}

// frame is what top drew last as a whole.
func (m terminal) frame() []string {
	all := strings.Split(m.shown.String(), "\x1b[H")
	for _, f := range all[max(len(all)-2, 1):] {
		if whole, _, ok := strings.Cut(f, "\x1b[J"); ok {
			all = append(all, whole)
		}
	}
	return strings.Split(strings.ReplaceAll(all[len(all)-1], "\x1b[K", ""), "\r\n")
}

// fits waits for a frame of a size that has the text, and checks that none of it is wider.
func (m terminal) fits(t *testing.T, width, height int, text string) {
	t.Helper()
	var lines []string
	require.Eventually(t, func() bool {
		lines = m.frame()
		return len(lines) == height && strings.Contains(strings.Join(lines, "\n"), text)
	}, limit, 10*time.Millisecond, "%s", text)
	for _, l := range lines {
		require.LessOrEqual(t, len([]rune(l)), width, "%q", l)
		require.NotContains(t, l, "\x1b")
	}
}

// topOn starts top on a terminal of 80x24, between two looks at how the terminal is set.
func topOn(t *testing.T, s *sidecar) terminal {
	t.Helper()
	m := openTerminal(t, s)
	m.resize(t, 80, 24)
	m.types(t, "T=${X%% exec*}; before=$(stty -g); $T top --socket "+s.socket+" --interval 100ms; echo code-$?.; "+
		"[ \"$before\" = \"$(stty -g)\" ] && echo as-$((40+2)).\n")
	return m
}

// left checks that top has ended with a code and left the terminal as it was.
func (m terminal) left(t *testing.T, code string) {
	t.Helper()
	m.shows(t, "code-"+code+`\.`)
	m.shows(t, `as-42\.`)
	_, after, _ := strings.Cut(m.shown.String(), "\x1b[?1049l")
	require.NotContains(t, after, "\x1b[?1049h")
	require.Contains(t, m.shown.String(), "\x1b[?7h\x1b[?25h\x1b[?1049l", "lines wrap, and the cursor is there")
}

func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	m := topOn(t, busy(t))
	m.fits(t, 80, 24, "[1 calls]")
	m.fits(t, 80, 24, "ratelimit.acquire")
	for key, want := range map[string]string{
		"2": "inline", "3": "example.com", "4": "nightly", "5": "agents", "6": "api.example.com", "7": "jobs", "8": "STREAM", "9": "WHAT",
	} {
		m.types(t, key)
		m.fits(t, 80, 24, "["+key+" ")
		m.fits(t, 80, 24, want)
	}
	m.types(t, "4")
	m.fits(t, 80, 24, `a\x1b[2J\nb`)
	m.types(t, "/nightlx\x7fy\r")
	m.fits(t, 80, 24, "1 rows, filter: nightly")
	m.types(t, "\x1b")
	m.fits(t, 80, 24, "3 rows ")
	m.fits(t, 80, 24, "WAITING*")
	m.types(t, "s")
	m.fits(t, 80, 24, "ENDS IN*")
	m.types(t, "SSSS")
	m.fits(t, 80, 24, "NAME*")
	names := func() (names []string) {
		for _, l := range m.frame()[5:8] {
			names = append(names, strings.Fields(l + " .")[0])
		}
		return names
	}
	require.Eventually(t, func() bool { return strings.Join(names(), " ") == `a\x1b[2J\nb exports nightly` }, limit, 10*time.Millisecond)
	m.types(t, "r")
	require.Eventually(t, func() bool { return strings.Join(names(), " ") == `nightly exports a\x1b[2J\nb` }, limit, 10*time.Millisecond)
	m.types(t, "?")
	m.fits(t, 80, 24, "show or hide this help")
	m.types(t, "?\t")
	m.fits(t, 80, 24, "[5 pools]")
	m.resize(t, 30, 8)
	m.fits(t, 30, 8, "POOL")
	m.types(t, "1")
	m.fits(t, 30, 8, "rows 1-2 of ")
	m.types(t, "j\x1b[B")
	m.fits(t, 30, 8, "rows 3-4 of ")
	m.types(t, "\x1b[A")
	m.fits(t, 30, 8, "rows 2-3 of ")
	m.resize(t, 1, 1)
	require.Eventually(t, func() bool { return len(m.frame()) == 1 }, limit, 10*time.Millisecond)
	m.types(t, "q")
	m.left(t, "0")
}

// However it ends, the terminal is as it was.
func TestTopLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	s := ready(t)
	m := topOn(t, s)
	m.fits(t, 80, 24, "[1 calls]")
	m.types(t, ctrlC)
	m.left(t, "0")
	for _, signal := range []string{"TERM", "INT", "HUP"} {
		m := openTerminal(t, s)
		m.resize(t, 80, 24)
		m.types(t, "T=${X%% exec*}; before=$(stty -g); sh -c 'echo pid-$$.; exec \"$0\" top --socket "+s.socket+"' $T; echo code-$?.; "+
			"[ \"$before\" = \"$(stty -g)\" ] && echo as-$((40+2)).\n")
		pid, err := strconv.Atoi(m.shows(t, `pid-(\d+)\.`)[1])
		require.NoError(t, err)
		m.fits(t, 80, 24, "[1 calls]")
		require.NoError(t, unix.Kill(pid, unix.SignalNum("SIG"+signal)))
		m.left(t, "0")
	}
}

// While the sidecar is away top says so, and goes on with the next one.
func TestTopContinuesWithTheNextSidecar(t *testing.T) {
	t.Parallel()
	s := ready(t)
	m := topOn(t, s)
	m.fits(t, 80, 24, "session.hello")
	s.signals <- unix.SIGTERM
	require.Equal(t, main.OK, s.exit(t))
	m.fits(t, 80, 24, "old: ")
	next := serve(t, s.socket, []string{noGrace}, "--redis", "embedded")
	wait(t, next.socket)
	m.fits(t, 80, 24, "redis up embedded")
	m.types(t, "q")
	m.left(t, "0")
}
