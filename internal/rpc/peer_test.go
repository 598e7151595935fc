package rpc_test

import (
	"bufio"
	"bytes"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// patience is the timeout of a test that would otherwise hang; no test is expected to need it.
const patience = time.Minute

// msgpack writes and reads as most clients do.
var msgpack = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}
	h.RawToString = false
	h.MapType = typeOfMap
	return h
}()

// encode writes any Go value as MessagePack.
func encode(t testing.TB, v any) []byte {
	t.Helper()
	var b []byte
	require.NoError(t, codec.NewEncoderBytes(&b, msgpack).Encode(v))
	return b
}

// request returns a complete request frame.
func request(t testing.TB, id any, method string, params ...any) []byte {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	return encode(t, []any{0, id, method, params})
}

// notification returns a complete notification frame.
func notification(t testing.TB, method string, params any) []byte {
	t.Helper()
	return encode(t, []any{2, method, params})
}

// bench is a server with its services and its log.
type bench struct {
	*rpc.Server
	path    string
	leases  *lease.Leases
	limiter *ratelimit.Limiter
	streams *stream.Streams
	log     *lockedBuffer
}

// serve starts a server that is shut down at the end of the test.
func serve(t testing.TB, o rpc.Options, more ...rpc.Entry) *bench {
	t.Helper()
	s := rpc.Services{Leases: lease.NewLeases(telemetry.Nop())}
	return serveWith(t, o, s, more...)
}

func serveWith(t testing.TB, o rpc.Options, s rpc.Services, more ...rpc.Entry) *bench {
	t.Helper()
	b := &bench{leases: s.Leases, log: &lockedBuffer{}}
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "s.sock")
	}
	if o.Mode == 0 {
		o.Mode = 0o660
	}
	if o.DefaultDeadline == 0 {
		o.DefaultDeadline = patience // so that a busy machine does not fail a test
	}
	o.UID, o.GID = -1, -1
	o.Version = "1.2.3"
	o.Log = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv, err := rpc.ListenWith(o, s, more...)
	require.NoError(t, err)
	b.Server, b.path = srv, o.Path
	t.Cleanup(func() { b.shutdown(t) })
	return b
}

// awaited is a connection on which each read may take that long. A test as a whole may take longer.
type awaited struct{ net.Conn }

func (a awaited) Read(b []byte) (int, error) {
	if err := a.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return a.Conn.Read(b)
}

// peer is a client that uses only a MessagePack codec.
type peer struct {
	t    testing.TB
	conn *net.UnixConn
	dec  *codec.Decoder
}

func (b *bench) dial(t testing.TB) *peer {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: b.path, Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &peer{t: t, conn: c, dec: codec.NewDecoder(bufio.NewReader(awaited{c}), msgpack)}
}

// send writes bytes as they are.
func (p *peer) send(frames ...[]byte) {
	p.t.Helper()
	_, err := p.conn.Write(bytes.Join(frames, nil))
	require.NoError(p.t, err)
}

// message reads the next message.
func (p *peer) message() []any {
	p.t.Helper()
	var m []any
	require.NoError(p.t, p.dec.Decode(&m))
	return m
}

// reply reads the next message, which has to be a response.
func (p *peer) reply() (id, err, result any) {
	p.t.Helper()
	m := p.message()
	require.Len(p.t, m, 4)
	require.EqualValues(p.t, 1, m[0])
	require.True(p.t, (m[2] == nil) != (m[3] == nil), "exactly one of error and result: %v", m)
	return m[1], m[2], m[3]
}

// call sends a request and reads its reply.
func (p *peer) call(method string, params ...any) (result map[string]any, err string) {
	p.t.Helper()
	p.send(request(p.t, 7, method, params...))
	id, e, r := p.reply()
	require.EqualValues(p.t, 7, id)
	if e != nil {
		return nil, errorText(p.t, e)
	}
	m, ok := r.(map[string]any)
	require.True(p.t, ok, "a result is a map: %v", r)
	return m, ""
}

// must calls and requires a result.
func (p *peer) must(method string, params ...any) map[string]any {
	p.t.Helper()
	r, err := p.call(method, params...)
	require.Empty(p.t, err)
	return r
}

// errorText checks the list form of an error and returns its text.
func errorText(t testing.TB, e any) string {
	t.Helper()
	pair, ok := e.([]any)
	require.True(t, ok, "an error is [kind, text]: %v", e)
	require.Len(t, pair, 2)
	text, ok := pair[1].(string)
	require.True(t, ok, "the text is str: %v", e)
	require.NotEmpty(t, text)
	return text
}

// closed waits for the server to close the connection, and requires that
// nothing more was sent.
func (p *peer) closed() {
	p.t.Helper()
	var m any
	err := p.dec.Decode(&m)
	var timeout net.Error
	require.False(p.t, errors.As(err, &timeout) && timeout.Timeout(), "the connection stays open")
	require.Error(p.t, err, "an answer came: %v", m)
}

// alive requires that the connection still answers.
func (p *peer) alive() {
	p.t.Helper()
	require.Contains(p.t, p.must("session.ping"), "now_at_ms")
}
