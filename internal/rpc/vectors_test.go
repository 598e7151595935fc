package rpc_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// vector is one of client/testdata/vectors; see the README there.
type vector struct {
	Name     string          `json:"name"`
	Hex      string          `json:"hex"`
	Kind     string          `json:"kind"`
	MsgIDHex string          `json:"msgid_hex"`
	Method   string          `json:"method"`
	Code     string          `json:"code"`
	Mentions []string        `json:"mentions"`
	Error    *api.Error      `json:"-"`
	JSON     json.RawMessage `json:"json"`
}

func vectors(t testing.TB, file string) []vector {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "client", "testdata", "vectors", file))
	require.NoError(t, err)
	var vs []vector
	require.NoError(t, json.Unmarshal(b, &vs))
	require.NotEmpty(t, vs)
	return vs
}

// allVectors returns the frames of all files, as seeds.
func allVectors(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, file := range []string{"requests.json", "liberal.json", "refused.json", "malformed.json"} {
		for _, v := range vectors(t, file) {
			all = append(all, unhex(t, v.Hex))
		}
	}
	return all
}

// decodeVector skims a vector's frame and decodes its params.
func decodeVector(t testing.TB, v vector) *api.Error {
	t.Helper()
	frame := unhex(t, v.Hex)
	s := newSkimmer()
	size, whole, reason := s.Skim(frame)
	require.True(t, whole, "%s: %s", v.Name, reason)
	require.Equal(t, len(frame), size, v.Name)
	id, method, params, fault := s.Envelope(frame)
	require.Empty(t, fault, v.Name)
	require.Equal(t, v.Kind == "request", len(id) > 0, v.Name)
	require.Equal(t, v.Method, string(method), v.Name)
	if v.MsgIDHex != "" {
		require.Equal(t, unhex(t, v.MsgIDHex), id, v.Name)
	}
	spec, ok := api.Lookup(v.Method)
	if !ok || spec.NotifyOnly {
		return nil
	}
	_, _, err := rpc.DecodeParams(spec, params)
	return err
}

func TestVectorsOfRequestsAreDecoded(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"requests.json", "liberal.json"} {
		for _, v := range vectors(t, file) {
			require.Nil(t, decodeVector(t, v), "%s: %s", file, v.Name)
		}
	}
}

// The server accepts each unusual encoding of liberal.json over a real socket, and its reply
// repeats the bytes of the msgid.
func TestVectorsOfOtherClientsAreServed(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	for _, v := range vectors(t, "liberal.json") {
		p := b.dial(t)
		p.send(unhex(t, v.Hex))
		if v.Kind == "request" {
			want := append(unhex(t, "9401"), unhex(t, v.MsgIDHex)...)
			got := make([]byte, len(want)+1)
			_, err := io.ReadFull(p.conn, got)
			require.NoError(t, err, v.Name)
			require.Equal(t, append(want, 0xc0), got, "%s: [1, msgid, nil, ...", v.Name)
			continue
		}
		p.alive()
	}
}

func TestVectorsOfRefusedCallsAreAnswered(t *testing.T) {
	t.Parallel()
	p := serveAll(t).dial(t)
	for _, v := range vectors(t, "refused.json") {
		p.send(unhex(t, v.Hex))
		_, e, _ := p.reply()
		require.NotNil(t, e, v.Name)
		text := errorText(t, e)
		require.Contains(t, text, v.Code+": ", v.Name)
		for _, m := range v.Mentions {
			require.Contains(t, text, m, v.Name)
		}
	}
	p.alive()
}

func TestVectorsOfMalformedFramesCloseTheConnection(t *testing.T) {
	t.Parallel()
	b := serveAll(t)
	other := b.dial(t)
	for _, v := range vectors(t, "malformed.json") {
		p := b.dial(t)
		p.send(unhex(t, v.Hex))
		p.closed()
		other.alive()
	}
}

// resultTypes has an empty value of the type of each result in replies.json.
var resultTypes = map[string]any{
	"ping": api.PingResult{}, "ratelimit-allowed": api.RatelimitResult{}, "ratelimit-never": api.RatelimitResult{},
	"ratelimit-degraded": api.RatelimitResult{}, "ratelimit-many": api.RatelimitManyResult{},
	"lock-acquired": api.LockAcquireResult{}, "lock-busy": api.LockAcquireResult{},
	"result-empty": api.Nothing{}, "msgid-echo-wide": api.Nothing{}, "msgid-echo-negative": api.Nothing{},
	"methods-empty-list": api.MethodsResult{},
}

// The encoder writes the replies that the vectors show to clients, byte for byte.
func TestVectorsOfRepliesAreWhatIsSent(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, v := range vectors(t, "replies.json") {
		like, ok := resultTypes[v.Name]
		if !ok {
			continue
		}
		seen++
		frame := unhex(t, v.Hex)
		var parts []codec.Raw
		h := &codec.MsgpackHandle{WriteExt: true}
		h.Raw = true
		require.NoError(t, codec.NewDecoderBytes(frame, h).Decode(&parts), v.Name)
		require.Len(t, parts, 4, v.Name)
		result := reflect.New(reflect.TypeOf(like))
		require.NoError(t, codec.NewDecoderBytes(parts[3], msgpack).Decode(result.Interface()), v.Name)
		require.Equal(t, []byte(parts[3]), rpc.Encode(nil, result.Elem().Interface()), v.Name)
	}
	require.Len(t, resultTypes, seen)
}

func TestVectorsOfErrorsAreWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   api.Error
		asMap bool
	}{
		{"list-error-caller", api.Error{Code: api.InvalidArgument, Message: "ttl: unknown key; did you mean ttl_ms?"}, false},
		{"list-error-other", api.Error{Code: api.Unavailable, Message: "redis does not answer; try again"}, false},
		{"map-error", api.Error{Code: api.MethodNotFound, Message: "lock.aquire: no such method; did you mean lock.acquire?"}, true},
		{"map-error-details", api.Error{
			Code: api.Unavailable, Message: "maybe executed: redis did not answer", Retryable: true, RetryAfterMS: 250,
			Details: map[string]any{api.DetailMaybeExecuted: true},
		}, true},
	} {
		var frame []byte
		for _, v := range vectors(t, "replies.json") {
			if v.Name == c.name {
				frame = unhex(t, v.Hex)
			}
		}
		require.NotEmpty(t, frame, c.name)
		got := append(append([]byte{0x94, 1, frame[2]}, rpc.AppendError(&c.err, c.asMap)...), 0xc0)
		require.Equal(t, frame, got, c.name)
	}
}
