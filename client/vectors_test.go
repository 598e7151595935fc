package client_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

// vector is one entry of testdata/vectors; see the README there.
type vector struct {
	Name   string         `json:"name"`
	Hex    string         `json:"hex"`
	JSON   any            `json:"json"`
	Kind   string         `json:"kind"`
	MsgID  json.Number    `json:"msgid"`
	Method string         `json:"method"`
	Params any            `json:"params"`
	Error  map[string]any `json:"error"`
}

func (v vector) bytes(t testing.TB) []byte {
	b, err := hex.DecodeString(v.Hex)
	require.NoError(t, err, v.Name)
	return b
}

func vectors(t testing.TB, file string) []vector {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "vectors", file))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var vs []vector
	require.NoError(t, d.Decode(&vs))
	require.NotEmpty(t, vs)
	return vs
}

// asJSON brings JSON numbers and MessagePack's integers and floats to one form.
func asJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// The vectors hold what this client sends, byte for byte.
func TestRequestsAreTheVectors(t *testing.T) {
	t.Parallel()
	c := dial(t, newFake(t).listen(), client.Options{Tracer: &tracing{}})
	typed := map[string]any{
		"hello":                  &api.HelloParams{Client: "billing", Version: "1.2.3", Instance: "pod-7/1", Errors: api.ErrorsMap},
		"ping":                   &api.Nothing{},
		"ratelimit-acquire-rule": &api.RatelimitParams{Rule: "crawl", Key: "example.com", Cost: 2},
		"ratelimit-acquire-waiting": &api.RatelimitParams{
			Rule: "crawl", Key: "example.com", Cost: 2, WaitMS: 30000, FailMode: "local",
		},
		"ratelimit-report": &api.RatelimitReportParams{
			Rule: "crawl", Key: "example.com", Grant: "1.4KQ7Z.token_bucket.1.f0gqz8a7.crawl:example.com", Status: 429, LatencyMS: 840, RetryAfterMS: 2000,
		},
		"ratelimit-peek-inline": &api.RatelimitParams{
			Algorithm: api.AlgorithmTokenBucket, Key: "ua-1",
			Limits: []api.Band{{Limit: 80, PeriodMS: 600000}, {Limit: 3, PeriodMS: 5000, Burst: 6}},
		},
		"ratelimit-acquire-many": &api.RatelimitManyParams{Atomic: true, Items: []api.RatelimitItem{
			{Rule: "crawl", Key: "a.example.com", Group: "example.com", Cost: 2}, {Rule: "crawl", Key: "b.example.com", Group: "example.com", Cost: 1},
		}},
		"ratelimit-refund":    &api.RatelimitGrantParams{Grant: "1.K7Q2M4XWZ3PLA5TN1.token_bucket.2.hw0f5d1c3k.crawl:example.com"},
		"lock-acquire-traced": &api.LockAcquireParams{Name: "orders", TTLMS: 30000, Bind: api.BindSession},
		"ratelimit-put-rule": &api.RatelimitPutRuleParams{Rule: &api.Rule{
			Name: "crawl", Algorithm: api.AlgorithmTokenBucket, Limits: []api.Band{{Limit: 3, PeriodMS: 5000}},
			Overrides: []api.Override{{Glob: "*.slow", Limits: []api.Band{{Limit: 1, PeriodMS: 5000}}}},
			Penalty:   &api.Penalty{Codes: []int64{403, 429}, JitterPercent: new(int64)},
		}},
		"events-subscribe": &api.EventsSubscribeParams{Kinds: []string{"lost", "refused"}},
		"lock-release":     &api.LockReleaseParams{Name: "orders", Token: "t"},
	}
	for _, v := range vectors(t, "requests.json") {
		id, err := v.MsgID.Int64()
		if v.Kind == "notification" {
			require.Equal(t, v.Hex, hex.EncodeToString(client.CancelFrame(3)), v.Name)
			continue
		}
		require.NoError(t, err, v.Name)
		meta := v.Params.(map[string]any)
		ctx := traced(t, meta)
		if id, ok := meta[api.MetaRequestID].(string); ok {
			ctx = client.WithRequestID(ctx, id)
		}
		left, err := meta[api.MetaDeadlineMS].(json.Number).Int64()
		require.NoError(t, err)
		b, err := client.RequestFrame(ctx, c, v.Method, typed[v.Name], true, uint32(id), time.Duration(left)*time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, v.Hex, hex.EncodeToString(b), v.Name)
	}
}

func traced(t testing.TB, meta map[string]any) context.Context {
	parent, _ := meta[api.MetaTraceparent].(string)
	state, _ := meta[api.MetaTracestate].(string)
	return within(t.Context(), parent, state)
}

func TestRepliesOfTheVectorsAreRead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	events := make(chan client.Event, 1)
	c := dial(t, f.listen(), client.Options{OnEvent: func(e client.Event) { events <- e }})
	_, err := c.Ping(t.Context())
	require.NoError(t, err)
	peer := f.next(api.SessionPing.Name).peer
	for _, v := range vectors(t, "replies.json") {
		if v.Kind == "notification" {
			peer.write(v.bytes(t))
			e := <-events
			require.Equal(t, v.Method, e.Method)
			require.JSONEq(t, asJSON(t, v.Params), asJSON(t, e.Params), v.Name)
			continue
		}
		if v.MsgID == "-1" {
			continue // the ids of this client are never negative
		}
		var result any
		id, err := client.ReadReply(v.bytes(t), &result)
		require.Equal(t, string(v.MsgID), asJSON(t, id), v.Name)
		if v.Error == nil {
			require.NoError(t, err, v.Name)
			require.JSONEq(t, asJSON(t, v.JSON.([]any)[3]), asJSON(t, result), v.Name)
			continue
		}
		var e *api.Error
		require.ErrorAs(t, err, &e, v.Name)
		require.JSONEq(t, asJSON(t, v.Error), asJSON(t, errorMap(e)), v.Name)
	}
}

func errorMap(e *api.Error) map[string]any {
	m := map[string]any{"code": e.Code, "message": e.Message, "retryable": e.Retryable}
	if e.RetryAfterMS != 0 {
		m["retry_after_ms"] = e.RetryAfterMS
	}
	if e.Details != nil {
		m["details"] = e.Details
	}
	return m
}

// The vectors say the same in their bytes and in their JSON.
func TestVectorsAreWhatTheirJSONSays(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"requests.json", "liberal.json", "refused.json", "malformed.json", "replies.json"} {
		seen := map[string]bool{}
		for _, v := range vectors(t, file) {
			require.False(t, seen[v.Name], "%s: %s is there twice", file, v.Name)
			seen[v.Name] = true
			if v.JSON == nil {
				continue
			}
			var got any
			d := codec.NewDecoderBytes(v.bytes(t), testHandleUnsigned())
			require.NoError(t, d.Decode(&got), "%s: %s", file, v.Name)
			require.Equal(t, len(v.Hex)/2, d.NumBytesRead(), "%s: %s", file, v.Name)
			require.JSONEq(t, asJSON(t, v.JSON), asJSON(t, plain(got)), "%s: %s", file, v.Name)
		}
	}
}

func testHandleUnsigned() *codec.MsgpackHandle {
	h := testHandle()
	h.SignedInteger = false
	return h
}

// plain writes a decoded value as the vectors' JSON does.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return text(string(v))
	case string:
		return text(v)
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			if b, ok := k.([]byte); ok {
				k = string(b)
			}
			m[k.(string)] = plain(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	default:
		return v
	}
}

func text(s string) any {
	if !json.Valid([]byte(`"`+s+`"`)) || !bytes.Equal([]byte(s), bytes.ToValidUTF8([]byte(s), []byte("?"))) {
		return map[string]any{"$bin": hex.EncodeToString([]byte(s))}
	}
	return s
}

func seeds(f *testing.F) {
	for _, file := range []string{"requests.json", "liberal.json", "refused.json", "malformed.json", "replies.json"} {
		for _, v := range vectors(f, file) {
			f.Add(v.bytes(f))
		}
	}
}

// FuzzSkim: the end of a frame is the same however the bytes arrive, and what
// another decoder reads ends there too.
func FuzzSkim(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := client.Skim(b, len(b)+1)
		for _, step := range []int{1, 3} {
			m, stepErr := client.Skim(b, step)
			require.Equal(t, n, m)
			require.Equal(t, err == nil, stepErr == nil)
		}
		if n == 0 {
			return
		}
		var v codec.Raw
		d := codec.NewDecoderBytes(b[:n], testHandle())
		if d.Decode(&v) == nil {
			require.Equal(t, n, d.NumBytesRead())
		}
		m, err := client.Skim(b[:n-1], len(b))
		require.NoError(t, err)
		require.Zero(t, m, "the frame without its last byte")
	})
}

// FuzzReply: no reply crashes the client.
func FuzzReply(f *testing.F) {
	seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) {
		var r api.LockAcquireResult
		_, _ = client.ReadReply(b, &r)
		var v any
		_, _ = client.ReadReply(b, &v)
	})
}
