package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
)

// evil clears the screen, fills the clipboard, forges a line and turns text around.
const evil = "x\x1b[2J\x1b]52;c;aGk=\x07\r\nforged: line\u009b1m\u202e\x7f"

// harmless fails when the printed text has a character that a terminal acts upon.
func harmless(t *testing.T, printed string) {
	t.Helper()
	for _, c := range []string{"\x1b", "\x07", "\r", "\u009b", "\u202e", "\x7f", "\nforged"} {
		require.NotContains(t, printed, c)
	}
}

func TestTextOfUsersDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	file := writeRules(t, rulesOfUsers)
	conf := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(conf, []byte("rules: {files: ["+file+"]}\n"), 0o600))
	s := ready(t, "COXSWAIN_CONFIG="+conf)
	c, err := client.Dial(t.Context(), client.Options{Socket: s.socket, Client: evil, Instance: evil})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	_, err = c.LockAcquire(t.Context(), "l", client.LockOptions{Meta: evil})
	require.NoError(t, err)
	_, err = c.RatelimitAcquire(t.Context(), api.RatelimitParams{Rule: "host", Key: evil})
	require.NoError(t, err)
	_, err = c.RatelimitPause(t.Context(), api.RatelimitPauseParams{Rule: "host", Key: evil, ForMS: 60_000, Reason: evil})
	require.NoError(t, err)

	a := cli(t, "explain", "--socket", s.socket, "--rule", "host", "--key", evil)
	require.Equal(t, main.OK, a.code, a.err)
	harmless(t, a.out)
	require.Contains(t, a.out, `x\x1b[2J\x1b]52;c;aGk=\a\r\nforged: line\u009b1m\u202e\x7f`, "it is told, written out")

	a = cli(t, "exec", "--socket", s.socket, "--lock", "l", "--", "sh", "-c", ":")
	require.Equal(t, 75, a.code, a.err)
	harmless(t, a.err)
	require.Contains(t, a.err, `held by x\x1b[2J`)

	for _, args := range [][]string{
		{"call", "--socket", s.socket, evil},
		{"call", "--socket", s.socket, "lock.get", `{"name":"l","\u001b[2J\r\nforged":1}`},
		{"call", "--socket", s.socket, "ratelimit.acquire", `{"key":"k","rule":"\u001b[2J\r\nforged"}`},
		{"describe", evil},
		{evil},
		{"rules", evil},
		{"exec", "--lock", "l", "--", evil},
		{"wait", "--socket", evil, "--timeout", "1ms"},
		{"probe", "--socket", evil, "live"},
		{"drain", "--socket", evil},
		{"rules", "lint", evil},
		{"rules", "simulate", file, "--trace", evil},
		{"config", "check", evil},
	} {
		a := cli(t, args...)
		require.NotEmpty(t, a.err)
		harmless(t, strings.ReplaceAll(a.err, "\nforged: line", ""))
	}
	a = cliWith(t, "0s a\x1b[2J\u202e 1\n", nil, "rules", "simulate", file, "--rule", "user", "--trace", "-")
	require.Equal(t, main.OK, a.code, a.err)
	harmless(t, a.out)
	a = cli(t, "rules", "lint", writeRules(t, "items:\n  - name: \"a\\e[2J\"\n    algorithm: \x1b[2J\n"))
	harmless(t, a.err)
}

func TestJSONOfTextOfUsersIsTheSameJSON(t *testing.T) {
	t.Parallel()
	want := map[string]any{"name": evil, "tag": "\U000e0001", "plain": "grüße 日本 🚣"}
	var b bytes.Buffer
	require.NoError(t, main.PrintJSON(&b, want, main.JSON))
	harmless(t, b.String())
	require.Contains(t, b.String(), "grüße 日本 🚣")
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, want, got)
}
