package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

// What users name and say of themselves is in tables and explanations, and drives no terminal.
func TestListsAndExplanationsAreForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	s := ready(t)
	c, err := client.Dial(t.Context(), client.Options{Socket: s.socket, Client: evil, Instance: evil})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for _, name := range []string{evil, "plain"} {
		_, err = c.LockAcquire(t.Context(), name, client.LockOptions{Meta: evil})
		require.NoError(t, err)
		_, err = c.SemaphoreAcquire(t.Context(), name, client.SemaphoreOptions{Limit: 2})
		require.NoError(t, err)
		_, err = c.QueueEnqueue(t.Context(), name, evil, client.EntryOptions{})
		require.NoError(t, err)
		_, err = c.QueueDequeue(t.Context(), name, client.QueueOptions{})
		require.NoError(t, err)
		_, err = c.BreakerForce(t.Context(), api.BreakerForceParams{Name: name, State: "open"})
		require.NoError(t, err)
		_, err = c.PoolPut(t.Context(), api.PoolPutParams{Pool: name, Members: []api.PoolMember{{ID: evil}}})
		require.NoError(t, err)
		_, err = c.PoolAcquire(t.Context(), name, client.PoolOptions{})
		require.NoError(t, err)
		_, err = c.StreamPublish(t.Context(), api.StreamPublishParams{Stream: name, Body: []byte("x")})
		require.NoError(t, err)
	}
	for _, list := range []string{"lock list", "semaphore list", "queue list", "breaker list", "pool list", "stream list"} {
		noun := strings.Fields(list)
		a := cli(t, append(noun, "--socket", s.socket, "-o", "table")...)
		require.Equal(t, main.OK, a.code, "%s: %s", list, a.err)
		harmless(t, a.out)
		require.Equal(t, 3, strings.Count(a.out, "\n"), "a title and two rows:\n%s", a.out)
		require.Contains(t, a.out, `x\x1b[2J`)
		a = cli(t, append(noun, "--socket", s.socket, "--limit", "1")...)
		require.Equal(t, main.OK, a.code, a.err)
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(a.out), &row), a.out)
		require.Contains(t, a.err, "more than 1")
	}
	a := cli(t, "pool", "list", evil, "--socket", s.socket, "-o", "table")
	harmless(t, a.out)
	require.Contains(t, a.out, "leased")
	a = cli(t, "lock", "list", "--state", "waited", "--socket", s.socket)
	require.Equal(t, []any{main.OK, ""}, []any{a.code, a.out})
	listed(t, s)
	a = cli(t, "sidecars", "--socket", s.socket)
	require.Equal(t, main.OK, a.code, a.err)
	require.Contains(t, a.out, `"self":true`)
	for _, args := range [][]string{{"lock", evil}, {"breaker", evil}, {"pool", evil}, {"permit", evil, "--breaker", "default"}} {
		a = cli(t, append(append([]string{"explain"}, args...), "--socket", s.socket)...)
		require.Equal(t, main.OK, a.code, a.err)
		harmless(t, a.out)
		a = cli(t, append(append([]string{"explain"}, args...), "--socket", s.socket, "-o", "json")...)
		require.NoError(t, json.Unmarshal([]byte(a.out), &map[string]any{}), a.out)
	}
	a = cli(t, "lock", "release", "plain", "--socket", s.socket)
	require.Contains(t, a.err, "--force")
	a = cli(t, "lock", "release", "plain", "--force", "--socket", s.socket)
	require.Equal(t, main.OK, a.code, a.err)
	harmless(t, a.out)
	require.Contains(t, cli(t, "lock", "get", "plain", "--socket", s.socket).out, `"held":false`)
	for _, wrong := range [][]string{
		{"lock"}, {"lock", "none"}, {"lock", "list", "-o", "xml"}, {"lock", "list", "--limit", "-1"}, {"pool", "list", "--scope", "s"},
	} {
		require.Equal(t, 2, cli(t, append(wrong, "--socket", s.socket)...).code, "%v", wrong)
	}
}
