package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// watchEvents starts sidecar tail of events, and returns when it is told of them.
func watchEvents(t *testing.T, s *sidecar, args ...string) *output {
	t.Helper()
	_, out := spawn(t, []string{"COXSWAIN_SOCKET=" + s.socket}, append([]string{"tail"}, args...)...)
	soon(t, out, "subscribed\n")
	return out
}

// taken takes a lock from its holder by hand, which is an event.
func taken(t *testing.T, s *sidecar, lock string) {
	t.Helper()
	name, err := json.Marshal(lock)
	require.NoError(t, err)
	call(t, s.socket, "lock.acquire", `{"name":`+string(name)+`,"bind":"ttl"}`)
	call(t, s.socket, "lock.force_release", `{"name":`+string(name)+`}`)
}

// refused uses a key's limit up, and has one call more refused.
func refused(t *testing.T, s *sidecar, key string) {
	t.Helper()
	const params = `{"key":"%s","algorithm":"sliding_window_log","limits":[{"limit":1,"period_ms":60000}]}`
	require.Equal(t, true, call(t, s.socket, "ratelimit.acquire", fmt.Sprintf(params, key))["allowed"])
	require.Equal(t, false, call(t, s.socket, "ratelimit.acquire", fmt.Sprintf(params, key))["allowed"])
}

func TestTailPrintsEventsAsTheyCome(t *testing.T) {
	t.Parallel()
	s := ready(t)
	all := watchEvents(t, s)
	asJSON := watchEvents(t, s, "-o", "json", "--count", "1")
	taken(t, s, "a\x1b[2J\nb")
	soon(t, all, ` forced lock a\x1b[2J\nb reason=`)
	require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z forced lock a`, all.String())
	require.NotContains(t, all.String(), "\x1b")
	soon(t, asJSON, "\n{")
	var e struct {
		Kind, Noun, Name string
		AtMS             int64 `json:"at_ms"`
		Count            int64
	}
	_, line, _ := strings.Cut(asJSON.String(), "subscribed\n")
	require.NoError(t, json.Unmarshal([]byte(line), &e), "one event, after which it ends")
	require.Positive(t, e.AtMS)
	require.Equal(t, []any{"forced", "lock", "a\x1b[2J\nb", int64(1)}, []any{e.Kind, e.Noun, e.Name, e.Count})

	refused(t, s, "k")
	soon(t, all, " refused ratelimit key=k reason=limit")
}

func TestTailPrintsTheEventsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	s := ready(t)
	outs := map[string]*output{}
	for _, filter := range []string{"--kind lost --kind forced", "--noun ratelimit", "--noun lock --noun breaker", "--name b* --name [z]", "--name ?"} {
		outs[filter] = watchEvents(t, s, strings.Fields(filter)...)
	}
	for _, lock := range []string{"a", "bc", "[z]"} {
		taken(t, s, lock)
	}
	// The last thing is an event for all of them, so that what is not there by then does not come.
	refused(t, s, "k")
	taken(t, s, "b")
	soon(t, outs["--noun ratelimit"], "refused")
	for filter, want := range map[string]string{
		"--kind lost --kind forced":  "a bc [z] b",
		"--noun lock --noun breaker": "a bc [z] b",
		"--name b* --name [z]":       "bc [z] b",
		"--name ?":                   "a b",
	} {
		soon(t, outs[filter], " lock b ")
		var names []string
		for line := range strings.Lines(outs[filter].String()) {
			if _, rest, ok := strings.Cut(line, " forced lock "); ok {
				names = append(names, strings.Fields(rest)[0])
			}
		}
		require.Equal(t, want, strings.Join(names, " "), filter)
		require.NotContains(t, outs[filter].String(), "refused", filter)
	}
	require.NotContains(t, outs["--noun ratelimit"].String(), "forced")
}

func TestTailOfEventsSaysWhyItEnds(t *testing.T) {
	t.Parallel()
	s := ready(t)
	a := cli(t, "tail", "--socket", s.socket, "--kind", "refusd")
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "did you mean refused?")
	closed := ready(t, "COXSWAIN_SOCKET_ADMIN_ENABLED=false")
	a = cli(t, "tail", "--socket", closed.socket)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "PERMISSION_DENIED")
	a = cli(t, "tail", "--socket", socketIn(t))
	require.Equal(t, main.Unreachable, a.code)
	require.Contains(t, a.err, "there is no such file")
	// It may end before it is subscribed, if the machine is busy.
	for timeout := 500 * time.Millisecond; timeout < limit; timeout *= 2 {
		a = cli(t, "tail", "--socket", s.socket, "--timeout", timeout.String(), "--noun", "stream")
		if a.err != "" {
			break
		}
		require.Equal(t, main.OK, a.code)
	}
	require.Equal(t, answer{main.OK, "", "subscribed\n"}, a)
}

func TestTailOfEventsContinuesWithTheNextSidecar(t *testing.T) {
	t.Parallel()
	env := []string{noGrace, "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t)}
	s := serve(t, socketIn(t), env, "--redis", redistest.URL(t))
	wait(t, s.socket)
	text, asJSON := watchEvents(t, s), watchEvents(t, s, "-o", "json")
	s.signals <- syscall.SIGTERM
	require.Equal(t, main.OK, s.exit(t))
	soon(t, text, "connection to the sidecar lost")
	next := serve(t, s.socket, env, "--redis", redistest.URL(t))
	wait(t, next.socket)
	soon(t, text, "gap: events were missed; it is not known how many\n")
	soon(t, asJSON, `{"dropped":-1}`+"\n")
	taken(t, next, "after")
	soon(t, text, " forced lock after ")
	soon(t, asJSON, `"name":"after"`)
}
