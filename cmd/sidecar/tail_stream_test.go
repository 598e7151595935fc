package main_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// published adds a message to the stream s by the command, and returns its id.
func published(t *testing.T, s *sidecar, body string, more ...string) string {
	t.Helper()
	a := cli(t, append([]string{"publish", "--socket", s.socket, "--stream", "s", "--body", body, "-o", "json"}, more...)...)
	require.Equal(t, main.OK, a.code, a.err)
	var r struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(a.out), &r))
	require.NotEmpty(t, r.ID)
	return r.ID
}

// tailOf runs sidecar tail of the stream s to its end.
func tailOf(t *testing.T, s *sidecar, args ...string) string {
	t.Helper()
	a := cli(t, append([]string{"tail", "--socket", s.socket, "--stream", "s"}, args...)...)
	require.Equal(t, main.OK, a.code, a.err)
	require.Equal(t, "subscribed\n", a.err)
	return a.out
}

// soon waits for a text in what a command prints.
func soon(t *testing.T, out *output, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), text) }, limit, 10*time.Millisecond, "%s", out)
}

// Who reads along takes part in nothing: there is no group, then or later.
func TestTheMessagesOfAStreamArePrintedByTail(t *testing.T) {
	t.Parallel()
	s := ready(t)
	first := published(t, s, "<h\x1b[1m>\n2")
	second := published(t, s, "x", "--field", "b=\x1b2", "--field", "a=1")
	require.Equal(t, first+" <h\\x1b[1m>\\n2\n"+second+" x a=1 b=\\x1b2\n", tailOf(t, s, "--start", "first", "--count", "2"))
	ms, _, _ := strings.Cut(second, "-")
	require.Equal(t, `{"id":"`+second+`","published_at_ms":`+ms+`,"body":"eA==","fields":{"a":"1","b":"\u001b2"}}`+"\n",
		strings.SplitAfter(tailOf(t, s, "--start", "first", "--count", "2", "-o", "json"), "\n")[1])

	_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, "tail", "--stream", "s", "--count", "2")
	soon(t, out, "subscribed\n")
	third, fourth := published(t, s, "3"), published(t, s, "4")
	soon(t, out, "subscribed\n"+third+" 3\n"+fourth+" 4\n")
	require.Empty(t, call(t, s.socket, "stream.groups", `{"stream":"s"}`)["groups"])
}

// What tail takes of a group is what it prints, and nobody is given it again.
func TestTailTakesPartInAGroup(t *testing.T) {
	t.Parallel()
	s := ready(t)
	ids := []string{published(t, s, "0"), published(t, s, "1"), published(t, s, "2")}
	group := func() map[string]any {
		groups, ok := call(t, s.socket, "stream.stats", `{"stream":"s","group":"g"}`)["groups"].([]any)
		require.True(t, ok)
		require.Len(t, groups, 1)
		return groups[0].(map[string]any)
	}
	require.Equal(t, ids[0]+" 0\n", tailOf(t, s, "--group", "g", "--start", "first", "--count", "1"))
	require.EqualValues(t, 0, group()["pending"])
	require.Equal(t, ids[0], group()["last_delivered_id"])
	require.Contains(t, tailOf(t, s, "--group", "g", "--count", "1", "-o", "json"), `"attempt":1,`)
	_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, "tail", "--stream", "s", "--group", "g")
	soon(t, out, ids[2]+" 2\n")
	last := published(t, s, "later")
	soon(t, out, last+" later\n")
	require.Equal(t, 2, strings.Count(out.String(), " "), "each once: %s", out)
	require.Eventually(t, func() bool { // the last is acknowledged after it was printed
		return group()["pending"] == float64(0) && group()["last_delivered_id"] == last
	}, limit, 10*time.Millisecond)
}

func TestTailOfAStreamContinuesAfterAnOutage(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	s := serve(t, socketIn(t), []string{noGrace}, "--redis", r.URL())
	wait(t, s.socket)
	published(t, s, "before")
	var tails []*output
	for _, args := range [][]string{{}, {"--group", "g"}} {
		_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, append([]string{"tail", "--stream", "s"}, args...)...)
		soon(t, out, "subscribed\n")
		tails = append(tails, out)
	}
	r.Stop()
	for _, out := range tails {
		soon(t, out, "retrying: ")
	}
	r.Restart()
	require.Eventually(t, func() bool {
		return cli(t, "publish", "--socket", s.socket, "--stream", "s", "--body", "after").code == main.OK
	}, limit, 10*time.Millisecond)
	for _, out := range tails {
		soon(t, out, " after\n")
	}
}

func TestTailOfAStreamContinuesWithTheNextSidecar(t *testing.T) {
	t.Parallel()
	env := []string{noGrace, "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t)}
	s := serve(t, socketIn(t), env, "--redis", redistest.URL(t))
	wait(t, s.socket)
	var tails []*output
	for _, args := range [][]string{{}, {"--group", "g"}} {
		_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, append([]string{"tail", "--stream", "s"}, args...)...)
		soon(t, out, "subscribed\n")
		tails = append(tails, out)
	}
	s.signals <- syscall.SIGTERM
	require.Equal(t, main.OK, s.exit(t))
	for _, out := range tails {
		soon(t, out, "retrying: ")
	}
	next := serve(t, s.socket, env, "--redis", redistest.URL(t))
	wait(t, next.socket)
	id := published(t, next, "after")
	for _, out := range tails {
		soon(t, out, "\n"+id+" after\n")
	}
}
