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
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// An entry is one method: its contract and how it is carried out.
type entry struct {
	*api.Spec
	// instant methods never wait, so the goroutine that read them answers them.
	instant bool
	// acquires marks what takes something. It is counted apart, so that it
	// never keeps out what gives back.
	acquires bool
	// span is what a span of this method begins with.
	span    string
	options []trace.SpanStartOption
	// open takes an exchange for one call of this method.
	open func() *call
	// wait is which parameter says how long the call may wait, -1 = none.
	wait int
	// naming adds the names whose order on a connection the call keeps; nil = none.
	naming naming
	// token is which parameter is a token of the caller's choice, -1 = none.
	token int
	// count is which parameter says how long a page is, -1 = there are no pages.
	count int
	// piped: what it does is one script, so that the call behind it may be sent
	// before this one is answered, and this one behind others.
	piped bool
	// limits marks what goes by the rules of limits, edits what changes them.
	limits, edits bool
	// notice, in place of open, is run by the reader for a method that exists
	// only as a notification; it reports whether it could read its params.
	notice func(c *conn, params []byte) bool
}

// flag is a property of a method that only this package knows.
type flag func(*entry)

func instant(e *entry)  { e.instant = true }
func acquires(e *entry) { e.acquires = true }
func piped(e *entry)    { e.piped = true }
func edits(e *entry)    { e.edits = true }

// methods is the table that clients are served from: a method is an entry of
// the contract and a function.
var methods = newTable(
	on(api.BreakerAllow, breakerAllow, acquires, piped),
	on(api.BreakerForce, breakerForce),
	on(api.BreakerGet, breakerGet),
	on(api.BreakerReport, breakerReport, piped),
	on(api.BreakerReset, breakerReset),
	on(api.EventsSubscribe, eventsSubscribe, instant),
	on(api.EventsUnsubscribe, eventsUnsubscribe, instant),
	on(api.HealthGet, healthGet),
	on(api.InspectSnapshot, inspectSnapshot),
	onParked(api.LockAcquire, lockAcquire, acquires, piped),
	on(api.LockForceRelease, lockForceRelease),
	on(api.LockGet, lockGet),
	on(api.LockList, lockList),
	on(api.LockRelease, lockRelease, piped),
	on(api.LockRenew, lockRenew),
	onParked(api.PermitAcquire, permitAcquire, acquires, piped),
	on(api.PermitRenew, permitRenew),
	on(api.PermitReport, permitReport, piped),
	onParked(api.PoolAcquire, poolAcquire, acquires, piped),
	on(api.PoolBan, poolBan),
	on(api.PoolList, poolList),
	on(api.PoolPut, poolPut),
	on(api.PoolRelease, poolRelease, piped),
	on(api.PoolRemove, poolRemove),
	on(api.PoolRenew, poolRenew),
	on(api.PoolStats, poolStats),
	on(api.PoolUnban, poolUnban),
	on(api.QueueAck, queueAck, piped),
	on(api.QueueCancel, queueCancel),
	onParked(api.QueueDequeue, queueDequeue, acquires, piped),
	on(api.QueueEnqueue, queueEnqueue, piped),
	on(api.QueuePosition, queuePosition),
	on(api.QueueRelease, queueRelease, piped),
	on(api.QueueRenew, queueRenew),
	on(api.QueueStats, queueStats),
	entryOf(api.RatelimitAcquire, handler[api.RatelimitParams, api.RatelimitResult]{f: ratelimitAcquire, then: ratelimitAcquireThen}, []flag{acquires, piped}),
	on(api.RatelimitAcquireAny, ratelimitAcquireAny, acquires),
	on(api.RatelimitAcquireMany, ratelimitAcquireMany, acquires),
	on(api.RatelimitDeleteRule, ratelimitDeleteRule, edits),
	on(api.RatelimitDone, ratelimitDone),
	on(api.RatelimitExplain, ratelimitExplain),
	on(api.RatelimitPause, ratelimitPause),
	on(api.RatelimitPeek, ratelimitPeek, piped),
	on(api.RatelimitPutRule, ratelimitPutRule, edits),
	on(api.RatelimitRefund, ratelimitRefund),
	on(api.RatelimitReport, ratelimitReport),
	on(api.RatelimitReset, ratelimitReset),
	on(api.RatelimitResume, ratelimitResume),
	on(api.RatelimitRules, ratelimitRules),
	on(api.RatelimitSetDelay, ratelimitSetDelay),
	on(api.RatelimitStats, ratelimitStats),
	&entry{Spec: api.RPCCancel.Spec, notice: (*conn).cancelCall},
	on(api.RPCDescribe, rpcDescribe, instant),
	on(api.RPCMethods, rpcMethods, instant),
	on(api.SeenCommit, seenCommit),
	on(api.SeenRelease, seenRelease),
	on(api.SeenReserve, seenReserve, acquires),
	onParked(api.SemaphoreAcquire, semaphoreAcquire, acquires, piped),
	on(api.SemaphoreGet, semaphoreGet),
	on(api.SemaphoreRelease, semaphoreRelease, piped),
	on(api.SemaphoreRenew, semaphoreRenew),
	on(api.SessionDrain, sessionDrain),
	on(api.SessionHello, sessionHello, instant),
	on(api.SessionPing, sessionPing, instant),
)

// methodTable is sorted by name.
type methodTable struct {
	entries []*entry
	names   []string
	// described is what rpc.methods answers, made when it is first asked for.
	described func() []api.MethodDescription
}

func newTable(entries ...*entry) *methodTable {
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
	hint := "rpc.methods lists all"
	if near, ok := nearest.Name(string(name[:min(len(name), 2*maxShown)]), t.names); ok {
		hint = "did you mean " + near + "?"
	} else if near != "" {
		hint = "the nearest is " + near + "; " + hint
	}
	return &api.Error{Code: api.MethodNotFound, Message: fmt.Sprintf("%s: no such method; %s", shown(name), hint)}
}

// handler carries out a method: f returns its result, or then hands it on, which may
// be later and on another goroutine. With both, f is for calls that do not wait.
type handler[P, R any] struct {
	f    func(context.Context, *call, *P) (R, error)
	then func(context.Context, *call, *P, func(R, error))
}

// on binds a method of the contract to the function that carries it out.
func on[P, R any](m api.Method[P, R], f func(context.Context, *call, *P) (R, error), flags ...flag) *entry {
	return entryOf(m, handler[P, R]{f: f}, flags)
}

// onParked binds one that may wait, to a function that needs no goroutine meanwhile.
func onParked[P, R any](m api.Method[P, R], then func(context.Context, *call, *P, func(R, error)), flags ...flag) *entry {
	return entryOf(m, handler[P, R]{then: then}, flags)
}

func entryOf[P, R any](m api.Method[P, R], h handler[P, R], flags []flag) *entry {
	in, out := compiled.of(m.Params), compiled.of(m.Result)
	blank, _ := in.blank.Interface().(P)
	pool := &sync.Pool{}
	e := &entry{
		Spec: m.Spec, wait: paramAt(m.Params, api.ParamWaitMS), token: -1, count: -1,
		naming: namingOf(m.Name, m.Params), limits: strings.HasPrefix(m.Name, "ratelimit."), span: "coxswain." + m.Name, options: []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("rpc.system", "msgpack-rpc"), attribute.String("rpc.method", m.Name)),
		},
	}
	for _, fl := range flags {
		fl(e)
	}
	if paramAt(m.Result, "cursor") >= 0 {
		e.count = paramAt(m.Params, "count")
	}
	if e.acquires {
		e.token = paramAt(m.Params, "token")
	}
	pool.New = func() any {
		x := &exchange[P, R]{handler: h, in: in, out: out, pool: pool, blank: blank}
		x.paramsValue, x.resultValue = reflect.ValueOf(&x.params).Elem(), reflect.ValueOf(&x.result).Elem()
		x.entry, x.body = e, x
		return x
	}
	e.open = func() *call { return &pool.Get().(*exchange[P, R]).call }
	return e
}

// compiled holds the tables of all types of the contract. It is complete once
// the package is loaded.
var compiled = tables{}

// body is the part of a call that knows its types.
type body interface {
	decode(params []byte) *mistake
	run(ctx context.Context) error
	// parks reports whether start can carry it out, which returns as soon as there is
	// nothing to do but wait and calls done before or later.
	parks() bool
	start(ctx context.Context, done func(error))
	appendResult(b []byte) []byte
	fingerprint() string
	// wait is how long the call may wait for what it asks for.
	wait() time.Duration
	// shorten asks for a shorter page, since this one has size bytes of most; false
	// when there is none.
	shorten(size, most int) bool
	// names adds the names whose order the call keeps.
	names(to []uint64) []uint64
	// chosen tells whether the call acquires under a token of the caller's choice,
	// which a call behind it may name before this one is answered.
	chosen() bool
	// release forgets the call; the call must not be touched after it.
	release()
}

// exchange is a call with its params and result. It is reused, since a call
// would else allocate all three; handlers therefore keep no pointer to them.
type exchange[P, R any] struct {
	call
	handler[P, R]
	in, out *table
	pool    *sync.Pool
	blank   P

	params                   P
	result                   R
	paramsValue, resultValue reflect.Value
}

func (x *exchange[P, R]) decode(params []byte) *mistake {
	x.params = x.blank
	return decodeParams(x.in, params, x.paramsValue, &x.meta)
}

func (x *exchange[P, R]) run(ctx context.Context) (err error) {
	if x.f != nil {
		x.result, err = x.f(ctx, &x.call, &x.params)
		return err
	}
	ended := make(chan struct{})
	x.start(ctx, func(e error) {
		err = e
		close(ended)
	})
	<-ended
	return err
}

func (x *exchange[P, R]) parks() bool { return x.then != nil }

func (x *exchange[P, R]) start(ctx context.Context, done func(error)) {
	x.then(ctx, &x.call, &x.params, func(r R, err error) {
		x.result = r
		done(err)
	})
}

func (x *exchange[P, R]) appendResult(b []byte) []byte { return x.out.append(b, x.resultValue) }

func (x *exchange[P, R]) wait() time.Duration {
	if x.entry.wait < 0 {
		return 0
	}
	return millis(x.paramsValue.Field(x.entry.wait).Int())
}

func (x *exchange[P, R]) names(to []uint64) []uint64 {
	if x.entry.naming == nil {
		return to
	}
	return x.entry.naming(to, x.paramsValue)
}

func (x *exchange[P, R]) shorten(size, most int) bool {
	if x.entry.count < 0 {
		return false
	}
	count := x.paramsValue.Field(x.entry.count)
	if count.Int() <= 1 {
		return false
	}
	// What fits by this page's average, and less than half in any case.
	count.SetInt(max(1, min(count.Int()/2, count.Int()*int64(most)/int64(size))))
	return true
}

func (x *exchange[P, R]) chosen() bool {
	return x.entry.token >= 0 && x.paramsValue.Field(x.entry.token).Len() > 0
}

func (x *exchange[P, R]) release() {
	var params P
	var result R
	x.params, x.result = params, result
	x.call.clear()
	x.pool.Put(x)
}

// canonical is how go-msgpack writes what fingerprints are made of: structs as
// maps with sorted keys, so that a later parameter that is left out changes no
// fingerprint while old and new sidecars share a Redis.
var canonical = &codec.MsgpackHandle{WriteExt: true, PositiveIntUnsigned: true}

// fingerprint is the same for the same call, whatever order its keys came in
// and whether defaults were written out: it is made of what was decoded.
func (x *exchange[P, R]) fingerprint() string {
	h := sha256.New()
	h.Write([]byte(x.entry.Name))
	codec.NewEncoder(h, canonical).MustEncode(&x.params)
	return hex.EncodeToString(h.Sum(nil))
}
