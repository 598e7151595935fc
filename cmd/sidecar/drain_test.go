package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// A pod's end as its hook and the kubelet make it: preStop, the app finishing,
// SIGTERM, the end.
func TestDrainNotifiesClientsAndTheAppFinishes(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{"COXSWAIN_LIMITS_SHUTDOWN_GRACE=1h"}, "--redis", "embedded")
	wait(t, s.socket)
	events := make(chan client.Event, 4)
	c, err := client.Dial(t.Context(), client.Options{Socket: s.socket, OnEvent: func(e client.Event) { events <- e }})
	require.NoError(t, err)
	l, err := c.LockAcquire(t.Context(), "l", client.LockOptions{})
	require.NoError(t, err)
	require.Contains(t, page(t, s, "/readyz?verbose"), `"detail": "not draining"`)

	a := cli(t, "drain", "--socket", s.socket, "--grace", "1h")
	require.Equal(t, main.OK, a.code, a.err)
	line := regexp.MustCompile(`^draining until (\S+), (\d+) connections\n$`).FindStringSubmatch(a.out)
	require.NotNil(t, line, a.out)
	e := <-events
	end, ok := e.Draining()
	require.True(t, ok, "%v", e)
	require.Equal(t, line[1], end.UTC().Format(time.RFC3339))
	_, ok = client.Event{Method: "lock.lost"}.Draining()
	require.False(t, ok)
	require.Equal(t, strings.SplitN(a.out, ",", 2)[0],
		strings.SplitN(cli(t, "drain", "--socket", s.socket, "--grace", "1ms").out, ",", 2)[0], "a second time changes nothing")
	s.shows(t, "/readyz?verbose", `"detail": "draining: the pod ends at `+line[1]+`"`)
	code, _ := get(t, s, "/readyz")
	require.Equal(t, 200, code, "an endpoint leaves its service by the pod's deletion, not by this")
	s.logs(t, `"msg":"draining: the pod ends"`)

	m, err := c.LockAcquire(t.Context(), "m", client.LockOptions{})
	require.NoError(t, err, "calls go on, acquisitions included")
	s.signals <- syscall.SIGTERM
	require.NoError(t, l.Release(t.Context()))
	require.NoError(t, m.Release(t.Context()))
	require.NoError(t, c.Close())
	require.Equal(t, main.OK, s.exit(t), "with its last client")
	require.Empty(t, events)
}

func TestADrainWithoutASidecarLetsThePodEnd(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	a := cli(t, "drain", "--socket", none)
	require.Equal(t, main.OK, a.code)
	require.Empty(t, a.out)
	require.Contains(t, a.err, "nothing to drain: cannot reach the sidecar at "+none+": there is no such file; ")
}

func TestADrainThatIsRefusedOrMisspelledSaysSo(t *testing.T) {
	t.Parallel()
	s := serve(t, socketIn(t), []string{noGrace, "COXSWAIN_SOCKET_ADMIN_ENABLED=false"}, "--redis", "embedded")
	wait(t, s.socket)
	a := cli(t, "drain", "--socket", s.socket)
	require.Equal(t, main.Failed, a.code)
	require.Contains(t, a.err, "drain: PERMISSION_DENIED: session.drain: ")
	for _, grace := range []string{"0s", "-1s", "25h"} {
		a = cli(t, "drain", "--socket", s.socket, "--grace", grace)
		require.Equal(t, main.Usage, a.code)
		require.Contains(t, a.err, "--grace: ")
	}
}

func TestDrainingIsAnEvent(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/c.yaml"
	put(t, file, ruled("one"))
	a := loaded(t, file)
	require.NoError(t, a.Start())
	events := make(chan coord.Event, 2)
	defer a.Events().Subscribe([]coord.EventKind{coord.EventDraining}, func(e coord.Event) { events <- e })()
	a.Stop()
	require.Regexp(t, `^the pod ends at \d{4}-`, (<-events).Detail)
	require.Empty(t, events)
}
