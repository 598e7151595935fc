package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	main "github.com/coxswain-sidecar/coxswain/cmd/sidecar"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// morgue is a sidecar that has streams alone, and the dead letters of one of them.
type morgue struct {
	t      *testing.T
	socket string
	client redis.UniversalClient
	key    func(part string) string
}

func openMorgue(t *testing.T) *morgue {
	t.Helper()
	keys := coord.NewKeys(redistest.Prefix(t), "")
	m := &morgue{t: t, socket: socketIn(t), client: redistest.Client(t)}
	m.key = func(part string) string { return keys.Key("orders", "stream:", part) }
	leases := lease.NewLeases(telemetry.Nop())
	t.Cleanup(func() { leases.Stop(context.Background()) })
	r, err := lua.Open(lua.Options{URL: redistest.URL(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	streams := stream.New(stream.Options{
		Runner: r, Keys: keys, Leases: leases, Telemetry: telemetry.Nop(), Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		if s, ok := any(streams).(interface {
			Stop(ctx context.Context) error
		}); ok { // they have something going on
			require.NoError(t, s.Stop(context.Background()))
		}
	})
	s, err := rpc.Listen(
		rpc.Options{Path: m.socket, Mode: 0o600, UID: -1, GID: -1, DefaultDeadline: limit},
		rpc.Services{Leases: leases, Methods: streams.Methods()},
	)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, s.Shutdown(ctx))
	})
	return m
}

// bury adds a dead letter.
func (m *morgue) bury(id, reason string, body []byte, fields map[string]string) {
	var b []byte
	require.NoError(m.t, codec.NewEncoderBytes(&b, &codec.MsgpackHandle{WriteExt: true}).Encode(map[string]any{"b": body, "f": fields}))
	require.NoError(m.t, m.client.XAdd(m.t.Context(), &redis.XAddArgs{Stream: m.key("dead"), ID: id, Values: []any{
		"m", b, "id", "1-" + strings.Split(id, "-")[0], "group", "billing", "attempts", 5, "reason", reason,
	}}).Err())
}

func (m *morgue) left() int64 { return m.client.XLen(m.t.Context(), m.key("dead")).Val() }

func (m *morgue) dead(args ...string) answer {
	m.t.Helper()
	return cli(m.t, append([]string{"dead", args[0], "--socket", m.socket, "--stream", "orders"}, args[1:]...)...)
}

func TestBadUsageOfDeadNamesTheRemedy(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"dead":      "dead: name a command: list, show, redrive or drop\n",
		"dead frob": "dead frob: no such command; use list, show, redrive or drop\n",
		"dead list": "dead: name a stream with --stream\n",
		"dead list --stream s -o yaml": "--output yaml is unknown; write text, json or pretty\n" +
			"Usage: sidecar dead list --stream S [flags]; more: sidecar dead list --help\n",
		"dead list --stream s --count 257":           "--count 257 is out of range; use 1 to 256\n",
		"dead show --stream s x":                     "\"x\" is not the id of a dead letter; sidecar dead list shows them\n",
		"dead redrive --stream s":                    "dead redrive: give either IDs, --count or --all\n",
		"dead redrive --stream s --all --count 1":    "dead redrive: give either IDs, --count or --all\n",
		"dead redrive --stream s --count -1 1-0":     "dead redrive: give either IDs, --count or --all\n",
		"dead drop --stream s":                       "dead drop: give either IDs, --older or --all\n",
		"dead drop --stream s --older 1h 1-0":        "dead drop: give either IDs, --older or --all\n",
		"dead drop --stream s --older -1h --all 1-0": "dead drop: give either IDs, --older or --all\n",
	} {
		require.Equal(t, answer{main.Usage, "", want}, cli(t, strings.Fields(line)...), line)
	}
	require.Equal(t, main.Unreachable, cli(t, "dead", "list", "--stream", "s", "--socket", "/none").code)
}

func TestDeadLettersAreListedAndShown(t *testing.T) {
	t.Parallel()
	m := openMorgue(t)
	require.Equal(t, answer{main.OK, "ID  DEAD AT  GROUP  ATTEMPTS  BYTES  REASON\n", ""}, m.dead("list"))
	require.Equal(t, answer{main.OK, "no dead letters\n", ""}, m.dead("show"))
	require.Equal(t, answer{main.OK, "{}\n", ""}, m.dead("show", "-o", "json"))

	m.bury("1767225600000-0", "no such user", []byte(`{"user": 7}`), map[string]string{"b": "2", "a": "1"})
	m.bury("1767225600000-1", "max_deliveries", []byte{0, 255}, nil)
	m.bury("1767225600001-0", "max_deliveries", nil, nil)
	require.Equal(t, answer{main.OK, `ID               DEAD AT                   GROUP    ATTEMPTS  BYTES  REASON
1767225600000-0  2026-01-01T00:00:00.000Z  billing  5         11     no such user
1767225600000-1  2026-01-01T00:00:00.000Z  billing  5         2      max_deliveries
`, "more: --after 1767225600000-1\n"}, m.dead("list", "--count", "2"))
	a := m.dead("list", "--after", "1767225600000-1", "-o", "json")
	require.Equal(t, `{"letters":[{"attempts":5,"dead_at_ms":1767225600001,"group":"billing","id":"1767225600001-0","message_id":"1-1767225600001","reason":"max_deliveries"}]}`+"\n", a.out)

	require.Equal(t, answer{main.OK, `1767225600000-0, of group billing, after 5 attempts
  at 2026-01-01T00:00:00.000Z, for: no such user
  it was message 1-1767225600000
  field a: 1
  field b: 2
  body, 11 bytes: {"user": 7}
`, ""}, m.dead("show", "1767225600000-0"))
	require.Equal(t, m.dead("show", "1767225600000-0"), m.dead("show"), "the oldest")
	require.Contains(t, m.dead("show", "1767225600000-1").out, "\n  body, 2 bytes, base64: AP8=\n")
	require.Contains(t, m.dead("show", "1767225600001-0").out, "1767225600001-0, of group billing")
	require.Contains(t, m.dead("show", "-o", "json").out, `"body":"eyJ1c2VyIjogN30=","dead_at_ms":1767225600000,"fields":{"a":"1","b":"2"}`)
	for _, id := range []string{"1767225600000-2", "1-0", "0-0", "1767225600002-0"} {
		a := m.dead("show", id)
		require.Equal(t, main.Failed, a.code, id)
		require.Equal(t, "NOT_FOUND: there is no such dead letter; sidecar dead list shows those that there are\n", a.err)
	}
	require.EqualValues(t, 3, m.left(), "looking changes nothing")
}

func TestDeadLettersOfUsersDriveNoTerminal(t *testing.T) {
	t.Parallel()
	m := openMorgue(t)
	m.bury("1-0", evil, []byte(evil), map[string]string{evil: evil})
	for _, line := range [][]string{{"list"}, {"show"}, {"show", "1-0"}} {
		a := m.dead(line...)
		require.Equal(t, main.OK, a.code)
		harmless(t, a.out+a.err)
		require.Contains(t, a.out, `\x1b`)
	}
}

func TestDeadLettersAreRedrivenAndDropped(t *testing.T) {
	t.Parallel()
	m := openMorgue(t)
	for i := range 600 {
		m.bury(fmt.Sprintf("%d-0", i+1), "why", nil, nil)
	}
	require.Equal(t, answer{main.OK, "2 dead letters moved back to the stream, 598 left\n", ""}, m.dead("redrive", "5-0", "3-0", "9999-0"))
	require.Equal(t, answer{main.OK, "300 dead letters moved back to the stream, 298 left\n", ""}, m.dead("redrive", "--count", "300"))
	require.Equal(t, answer{main.OK, "1 dead letter deleted, 297 left\n", ""}, m.dead("drop", "400-0"))
	var many []string
	for i := 301; i <= 560; i++ { // more than one call may name
		many = append(many, fmt.Sprintf("%d-0", i))
	}
	require.Equal(t, answer{main.OK, "{\"deleted\":257,\"left\":40}\n", ""}, m.dead(append([]string{"drop", "-o", "json"}, many...)...))
	a := m.dead("redrive", "-o", "json", "--all")
	require.Equal(t, "{\"left\":0,\"redriven\":40}\n", a.out)
	require.EqualValues(t, 342, m.client.XLen(t.Context(), m.key("log")).Val())

	m.bury("9000-0", "why", nil, nil)
	now := m.client.Time(t.Context()).Val().UnixMilli()
	m.bury(fmt.Sprintf("%d-0", now+3_600_000), "why", nil, nil)
	require.Equal(t, answer{main.OK, "1 dead letter deleted, 1 left\n", ""}, m.dead("drop", "--older", "24h"))
	require.Equal(t, answer{main.OK, "1 dead letter deleted, 0 left\n", ""}, m.dead("drop", "--all"))
	require.Equal(t, "0 dead letters moved back to the stream, 0 left\n", m.dead("redrive", "--all").out)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(m.dead("drop", "--all", "-o", "pretty").out), &r))
	require.EqualValues(t, 0, r["deleted"])
}
