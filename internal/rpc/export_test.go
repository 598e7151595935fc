package rpc

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Entry is a method that a test adds to the table.
type Entry = *entry

// On makes an entry whose handler f gets only the params of the call.
func On[P, R any](m api.Method[P, R], f func(context.Context, *P) (R, error), flags ...string) Entry {
	e := builtin(m, func(ctx context.Context, _ *call, p *P) (R, error) { return f(ctx, p) })
	for _, fl := range flags {
		switch fl {
		case "instant":
			e.instant = true
		case "acquires":
			e.acquires = true
		}
	}
	return e
}

// NewMethod makes a method that is not in the contract.
func NewMethod[P, R any](s api.Spec) api.Method[P, R] {
	s.Params, s.Result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	return api.Method[P, R]{Spec: &s}
}

// ListenWith is Listen with more methods.
func ListenWith(o Options, s Services, more ...Entry) (*Server, error) {
	return listen(o, s, newTable(s.Methods, more...))
}

// contract is a table of all methods of the contract, without their implementation.
var contract = func() *methodTable {
	var rest []*entry
	for _, m := range api.Methods() {
		if !slices.ContainsFunc(others, func(e *entry) bool { return e.Name == m.Name }) {
			e := newEntry(m)
			e.finish(func(*call) coord.Invocation { return blank{reflect.New(m.Params), reflect.New(m.Result)} })
			rest = append(rest, e)
		}
	}
	return newTable(nil, rest...)
}()

// blank is an invocation with params and a result that cannot run.
type blank struct{ params, result reflect.Value }

func (b blank) Params() any                             { return b.params.Interface() }
func (b blank) Result() any                             { return b.result.Interface() }
func (b blank) Run(context.Context, coord.Caller) error { panic("it cannot be carried out") }

func (b blank) Start(context.Context, coord.Caller, func(error)) { panic("it cannot be carried out") }

// SetRunning bounds how many calls run at once. Call it before the first call.
func (s *Server) SetRunning(n int) {
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	s.workers.free = n
}

// CountWrites counts the writes to the connections that are open now.
func (s *Server) CountWrites() func() int {
	n := 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		inner := c.attempt
		c.attempt = func(fd uintptr) bool {
			c.mu.Lock()
			n++
			c.mu.Unlock()
			return inner(fd)
		}
		c.mu.Unlock()
	}
	return func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.mu.Lock()
			defer c.mu.Unlock()
		}
		return n
	}
}

// Unwritten returns the largest number of unwritten bytes of a connection.
func (s *Server) Unwritten() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 0
	for c := range s.conns {
		c.mu.Lock()
		most = max(most, len(c.out)+c.rest)
		c.mu.Unlock()
	}
	return most
}

// MaxUnwritten is the size from which a write buffer counts as full.
const MaxUnwritten = maxUnwritten

// Skimmer is a skimmer without a connection.
type Skimmer struct{ s skimmer }

// NewSkimmer returns a skimmer with these bounds.
func NewSkimmer(maxBytes, maxDepth, maxElements int) *Skimmer {
	return &Skimmer{skimmer{maxBytes: maxBytes, maxElements: maxElements, open: make([]int, 0, maxDepth)}}
}

// Skim continues reading. size is the length of a complete frame; if reason is set, the frame is malformed at the
// offset size.
func (s *Skimmer) Skim(b []byte) (size int, whole bool, reason string) {
	whole, bad := s.s.skim(b)
	if bad != nil {
		return bad.offset, false, bad.reason
	}
	return s.s.pos, whole, ""
}

// Reset prepares for the next frame.
func (s *Skimmer) Reset() { s.s.reset() }

// Envelope reads the parts of a complete frame.
func (s *Skimmer) Envelope(b []byte) (id, method, params []byte, fault string) {
	f, fault := s.s.envelope(b)
	return f.idBytes, f.method, f.params, fault
}

// Meta is the metadata of a call, as decoded.
type Meta = metadata

// RequestID, Traceparent and DeadlineMS return its fields.
func (m *metadata) RequestID() string   { return m.requestID }
func (m *metadata) Traceparent() string { return m.traceparent }
func (m *metadata) DeadlineMS() (int64, bool) {
	return m.deadline.Milliseconds(), m.hasDeadline
}

// DecodeParams decodes skimmed params of a method into a new struct.
func DecodeParams(s *api.Spec, params []byte) (any, *Meta, *api.Error) {
	return DecodeInto(s.Params, params)
}

// DecodeInto decodes skimmed params into a new struct of any type.
func DecodeInto(typ reflect.Type, params []byte) (any, *Meta, *api.Error) {
	t := newTables().of(typ)
	v := reflect.New(typ)
	v.Elem().Set(t.blank)
	m := &metadata{}
	if bad := decodeParams(t, params, v.Elem(), m); bad != nil {
		return nil, nil, bad.wire()
	}
	return v.Elem().Interface(), m, nil
}

// Encode writes a result.
func Encode(b []byte, result any) []byte {
	v := reflect.ValueOf(result)
	return newTables().of(v.Type()).append(b, v)
}

// AppendError writes an error in either form.
func AppendError(e *api.Error, asMap bool) []byte { return appendError(nil, e, asMap) }

// CancelledError returns the error that a cancelled call which failed is answered with.
func CancelledError(err error) *api.Error { return cancelledError(err) }

// Fingerprint returns the fingerprint of a call.
func Fingerprint(method string, params []byte) string {
	k := contract.find([]byte(method)).open()
	defer k.body.release()
	if bad := k.body.decode(params); bad != nil {
		return bad.text
	}
	return k.body.fingerprint()
}

// Encoder returns a function that encodes the same result each time, for benchmarks.
func Encoder[R any](r *R) func([]byte) []byte {
	v := reflect.ValueOf(r).Elem()
	t := newTables().of(v.Type())
	return func(b []byte) []byte { return t.append(b, v) }
}

// Decoder returns a function that decodes params of a method, for benchmarks.
func Decoder(method string) func([]byte) {
	e := contract.find([]byte(method))
	return func(b []byte) {
		k := e.open()
		_ = k.body.decode(b)
		k.body.release()
	}
}

// SlowCall is the duration from which inspect.snapshot shows a call.
const SlowCall = slowCall

// Faults returns the sampler of faults by method.
func Faults() func(method string, now time.Time) (dropped int, ok bool) { return new(faults).take }

// Recorder returns a function that records a call of the method that has ended, on a connection with that log.
func Recorder(log *slog.Logger, tel *telemetry.Telemetry, method string) func() {
	e := contract.find([]byte(method))
	k := e.open()
	k.conn = &conn{server: &Server{opts: Options{Telemetry: tel}}, log: log.With("uid", 0)}
	return func() { k.conn.record(context.Background(), e.Name, k, codeOK, time.Millisecond) }
}

// NounOf returns the param that names the object of a call, empty if there is none.
func NounOf(method string) string {
	at := contract.find([]byte(method)).noun
	for _, f := range api.Fields(contract.find([]byte(method)).Params) {
		if f.Index == at {
			return f.Name
		}
	}
	return ""
}
