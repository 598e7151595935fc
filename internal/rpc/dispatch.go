package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// An entry is one method: its contract, and how it runs.
type entry struct {
	*api.Spec
	// instant: the method never waits, so the goroutine that reads the call answers it.
	instant bool
	// acquires: the method acquires something. Its calls are counted on their own,
	// so that they never keep out calls that give something back.
	acquires bool
	// span and options are the name and the options of the method's spans.
	span    string
	options []trace.SpanStartOption
	// open returns an exchange for one call of this method.
	open func() *call
	// wait is the index of the parameter with the time to wait, -1 = none.
	wait int
	// naming appends the names whose order on a connection the call keeps; nil = none.
	naming coord.Naming
	// token is the index of the parameter with a token that the caller may choose, -1 = none.
	token int
	// count is the index of the parameter with the length of a page, -1 = there are no pages.
	count int
	// noun is the index of the parameter with the name that the call is about, for the log, -1 = none.
	noun int
	// piped: the method is one script, so that the next call of the same name may be
	// sent before this one is answered, and this one likewise behind others.
	piped bool
	// parks: it needs no goroutine while it waits.
	parks bool
	// direct: its invocations have halves, see coord.Halves.
	direct bool
	// edits: the method changes rules; follows: it uses rules, so it must run after such a change ahead of it.
	edits, follows bool
	// notice, used instead of open, is run by the reader for a method that exists
	// only as a notification; it reports whether it could read its params.
	notice func(c *conn, params []byte) bool
}

// flag sets a property of a method that only this package uses.
type flag func(*entry)

func instant(e *entry) { e.instant = true }

// others are the methods that belong to no noun.
var others = []*entry{
	builtin(api.EventsSubscribe, eventsSubscribe, instant),
	builtin(api.EventsUnsubscribe, eventsUnsubscribe, instant),
	builtin(api.HealthGet, healthGet),
	builtin(api.InspectSnapshot, inspectSnapshot),
	{Spec: api.RPCCancel.Spec, notice: (*conn).cancelCall, noun: -1},
	builtin(api.RPCDescribe, rpcDescribe, instant),
	builtin(api.RPCMethods, rpcMethods, instant),
	builtin(api.SessionDrain, sessionDrain),
	builtin(api.SessionHello, sessionHello, instant),
	builtin(api.SessionPing, sessionPing, instant),
}

// methodTable is sorted by name.
type methodTable struct {
	entries []*entry
	names   []string
	// described returns the result of rpc.methods, which is made by the first call.
	described func() []api.MethodDescription
}

func newTable(nouns []coord.Method, more ...*entry) *methodTable {
	entries := slices.Concat(others, more)
	for _, m := range nouns {
		entries = append(entries, given(m))
	}
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.Name, b.Name) })
	t := &methodTable{entries: entries}
	for _, e := range entries {
		t.names = append(t.names, e.Name)
	}
	t.described = sync.OnceValue(func() []api.MethodDescription {
		ds := make([]api.MethodDescription, len(entries))
		for i, e := range entries {
			ds[i] = describe(e.Spec)
		}
		return ds
	})
	return t
}

// find returns the method with this name, or nil. It copies nothing.
func (t *methodTable) find(name []byte) *entry {
	if string(name) == api.CancelAlias {
		name = []byte(api.RPCCancel.Name)
	}
	lo, hi := 0, len(t.names)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.names[mid] < string(name) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.names) && t.names[lo] == string(name) {
		return t.entries[lo]
	}
	return nil
}

func (t *methodTable) notFound(name []byte) *api.Error {
	hint := "rpc.methods lists all methods"
	if near, ok := nearest.Name(string(name[:min(len(name), 2*maxShown)]), t.names); ok {
		hint = "did you mean " + near + "?"
	} else if near != "" {
		hint = "the nearest is " + near + "; " + hint
	}
	return &api.Error{Code: api.MethodNotFound, Message: fmt.Sprintf("%s: no such method; %s", shown(name), hint)}
}

// given returns the entry of a method of a noun.
func given(m coord.Method) *entry {
	e := newEntry(m.Spec)
	e.acquires, e.piped, e.edits, e.follows, e.naming, e.parks = m.Acquires, m.Piped, m.Edits, m.Follows, m.Names, m.Parks
	e.direct = m.Direct
	e.finish(func(*call) coord.Invocation { return m.New() })
	return e
}

// builtin returns the entry of a method that is about connections, which f runs.
func builtin[P, R any](m api.Method[P, R], f func(context.Context, *call, *P) (R, error), flags ...flag) *entry {
	e := newEntry(m.Spec)
	for _, fl := range flags {
		fl(e)
	}
	e.finish(func(k *call) coord.Invocation { return &invocation[P, R]{call: k, run: f} })
	return e
}

// invocation is one of this package's own methods, which sees its call.
type invocation[P, R any] struct {
	call   *call
	run    func(context.Context, *call, *P) (R, error)
	params P
	result R
}

func (i *invocation[P, R]) Params() any { return &i.params }
func (i *invocation[P, R]) Result() any { return &i.result }

func (i *invocation[P, R]) Run(ctx context.Context, _ coord.Caller) (err error) {
	i.result, err = i.run(ctx, i.call, &i.params)
	return err
}

// Start is for methods that park, of which this package has none.
func (i *invocation[P, R]) Start(ctx context.Context, c coord.Caller, done func(error)) {
	done(i.Run(ctx, c))
}

func newEntry(s *api.Spec) *entry {
	return &entry{
		Spec: s, wait: coord.ParamAt(s.Params, api.ParamWaitMS), token: -1, count: -1, noun: nounAt(api.Fields(s.Params)), span: "coxswain." + s.Name,
		options: []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("rpc.system", "msgpack-rpc"), attribute.String("rpc.method", s.Name)),
		},
	}
}

// finish sets the fields that follow from the entry's other fields.
func (e *entry) finish(invoke func(*call) coord.Invocation) {
	if coord.ParamAt(e.Result, "cursor") >= 0 {
		e.count = coord.ParamAt(e.Params, "count")
	}
	if e.acquires {
		e.token = coord.ParamAt(e.Params, "token")
	}
	in, out := compiled.of(e.Params), compiled.of(e.Result)
	pool := &sync.Pool{}
	pool.New = func() any {
		x := &exchange{in: in, out: out, pool: pool}
		x.entry, x.body, x.itemFailed, x.then = e, x, x.report, x.answered
		x.invocation = invoke(&x.call)
		x.direct, _ = x.invocation.(coord.DirectInvocation)
		x.params, x.result = reflect.ValueOf(x.invocation.Params()).Elem(), reflect.ValueOf(x.invocation.Result()).Elem()
		return x
	}
	e.open = func() *call { return &pool.Get().(*exchange).call }
}

// compiled has the tables of all types of the contract from the start.
var compiled = func() *tables {
	ts := newTables()
	for _, m := range api.Methods() {
		ts.of(m.Params)
		ts.of(m.Result)
	}
	return ts
}()

// body is the part of a call that depends on its types.
type body interface {
	decode(params []byte) *mistake
	run(ctx context.Context) error
	// start is run for a method that parks. It returns as soon as the call can only wait, and
	// calls done before or after that.
	start(ctx context.Context, done func(error))
	// halves returns the halves of a method on the direct path.
	halves() coord.DirectInvocation
	appendResult(b []byte) []byte
	fingerprint() string
	// wait returns how long the call may wait for what it asks for.
	wait() time.Duration
	// shorten reduces the length of the page, because the present one has size bytes
	// and may have most. It returns false if the page cannot be shorter.
	shorten(size, most int) bool
	// names appends the names whose order the call keeps.
	names(to []uint64) []uint64
	// noun returns the name that the call is about, if its entry has one.
	noun() string
	// chosen reports whether the call acquires under a token that the caller chose,
	// which a later call may use before this one is answered.
	chosen() bool
	// release makes the call available for reuse; it must not be used afterwards.
	release()
}

// exchange is a call with its params and result. It is reused, because a call would
// otherwise allocate all three; so methods must keep no pointer to them.
type exchange struct {
	call
	invocation     coord.Invocation
	direct         coord.DirectInvocation // nil = it has no halves
	in, out        *table
	pool           *sync.Pool
	params, result reflect.Value // of the invocation
}

func (x *exchange) decode(params []byte) *mistake {
	x.params.Set(x.in.blank)
	return decodeParams(x.in, params, x.params, &x.meta)
}

func (x *exchange) run(ctx context.Context) error { return x.invocation.Run(ctx, x.caller()) }

func (x *exchange) start(ctx context.Context, done func(error)) {
	x.invocation.Start(ctx, x.caller(), done)
}

func (x *exchange) halves() coord.DirectInvocation { return x.direct }

func (x *exchange) appendResult(b []byte) []byte { return x.out.append(b, x.result) }

func (x *exchange) wait() time.Duration {
	if x.entry.wait < 0 {
		return 0
	}
	return time.Duration(x.params.Field(x.entry.wait).Int()) * time.Millisecond
}

func (x *exchange) names(to []uint64) []uint64 {
	if x.entry.naming == nil {
		return to
	}
	return x.entry.naming(to, x.params)
}

func (x *exchange) noun() string { return x.params.Field(x.entry.noun).String() }

func (x *exchange) shorten(size, most int) bool {
	if x.entry.count < 0 {
		return false
	}
	count := x.params.Field(x.entry.count)
	if count.Int() <= 1 {
		return false
	}
	// As many as fit by this page's average size, and at most half.
	count.SetInt(max(1, min(count.Int()/2, count.Int()*int64(most)/int64(size))))
	return true
}

func (x *exchange) chosen() bool {
	return x.entry.token >= 0 && x.params.Field(x.entry.token).Len() > 0
}

func (x *exchange) release() {
	x.params.SetZero()
	x.result.SetZero()
	if x.prepared {
		x.direct.Forget()
	}
	x.call.clear()
	x.pool.Put(x)
}

// canonical is how go-msgpack encodes params for fingerprints: structs become maps
// with sorted keys, so that a parameter of a newer version that is left out does not
// change the fingerprint while old and new sidecars share a Redis.
var canonical = &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}

// fingerprint returns a hash that is the same for equal calls, whatever the order of
// their keys and whether or not they give defaults: it is made of the decoded params.
func (x *exchange) fingerprint() string {
	w, _ := fingerprints.Get().(*fingerprintWriter)
	w.params = w.params[:0]
	w.ResetBytes(&w.params)
	w.MustEncode(x.invocation.Params())
	w.text = append(append(w.text[:0], x.entry.Name...), w.params...)
	sum := sha256.Sum256(w.text)
	w.text = hex.AppendEncode(w.text[:0], sum[:])
	text := string(w.text)
	if cap(w.text) <= maxKeptParams {
		fingerprints.Put(w)
	}
	return text
}

// maxKeptParams is the largest buffer that is kept for reuse after a call with a large body.
const maxKeptParams = 16 << 10

// fingerprintWriter is reused, because making an encoder costs more than encoding.
type fingerprintWriter struct {
	*codec.Encoder
	params, text []byte
}

var fingerprints = sync.Pool{New: func() any {
	w := new(fingerprintWriter)
	w.Encoder = codec.NewEncoderBytes(&w.params, canonical)
	return w
}}
