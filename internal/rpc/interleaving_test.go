package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

// Clients send random calls in random order. Each request gets one reply, calls that name the
// same object take effect in the order of sending, and a connection that ends leaves nothing held.
func TestEveryInterleavingKeepsOrderAndRepliesOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, url string) {
		b := serveOn(t, rpc.Options{}, luatest.Open(t, lua.Options{URL: url}))
		const rowers = 8
		ended := make(chan error, rowers)
		for i := range rowers {
			r := &rower{bench: b, t: t, name: itoa(i), rand: rand.New(rand.NewPCG(rand.Uint64(), 0))}
			go func() { ended <- r.rounds(25) }()
		}
		for range rowers {
			require.NoError(t, <-ended)
		}
		eventually(t, "all calls end", func() bool {
			buffers, calls := b.Held()
			return b.Connections() == 0 && b.Waiting() == 0 && buffers == 0 && calls == 0
		})
		eventually(t, "what was held is given back", func() bool { return b.leases.Held() == 0 })
		eye := b.dial(t)
		for _, name := range shared {
			eventually(t, "the lock is free and nobody waits for it", func() bool {
				r := eye.must("lock.get", m{"name": name})
				return r["held"] == false && asInt(r["waiting"]) <= 0
			})
			require.Equal(t, true, eye.must("semaphore.acquire", m{"name": name, "limit": 2, "permits": 2, "wait_ms": 60_000})["acquired"])
		}
	})
}

// shared are the names for which all connections compete.
var shared = []string{"red", "blue"}

// A rower sends batches of calls on one connection. Calls for the shared names may end in any
// way. For the names that only this rower uses, its lanes, it predicts the result of every call.
type rower struct {
	*bench
	t    *testing.T
	name string
	rand *rand.Rand

	*peer
	serial  int
	pending map[int64]*stroke
	batch   []byte
	// lanes are the objects that only this rower uses.
	lanes []*lane
	// give are the granted acquires of shared names that it will release.
	give []*stroke
}

// stroke is a request that was sent.
type stroke struct {
	noun, verb, name, token string
	lane                    *lane // nil = it names a shared object
	// want is the predicted result, if it has a lane. due: it must end in this round.
	want      bool
	due       bool
	cancelled bool
}

// lane is a lock, or a semaphore with one permit, that no other connection uses, in the
// state in which it is if all calls took effect in the order of sending.
type lane struct {
	noun, name string
	holder     *stroke
	// line are the requests in its waiting line.
	line []*stroke
}

func (r *rower) rounds(n int) error {
	for range n {
		if r.peer == nil {
			r.peer, r.pending, r.give = r.bench.dial(r.t), map[int64]*stroke{}, nil
			r.serial++
			name := fmt.Sprintf("of %s, %d", r.name, r.serial)
			r.lanes = []*lane{{noun: "lock", name: name}, {noun: "semaphore", name: name}}
		}
		for range 1 + r.rand.IntN(20) {
			r.frame()
		}
		for _, s := range r.give {
			r.batch = append(r.batch, notification(r.t, s.noun+".release", m{"name": s.name, "token": s.token})...)
		}
		r.give = nil
		if err := r.row(); err != nil {
			return err
		}
		if r.rand.IntN(8) == 0 {
			if err := r.conn.Close(); err != nil { // with calls in flight
				return err
			}
			r.peer = nil
		}
	}
	if r.peer == nil {
		return nil
	}
	for id := range r.pending {
		r.cancel(id)
	}
	if err := r.row(); err != nil {
		return err
	}
	return r.conn.Close()
}

// frame adds one call to the batch.
func (r *rower) frame() {
	switch l := r.lanes[r.rand.IntN(len(r.lanes))]; r.rand.IntN(12) {
	case 0, 1, 2:
		r.compete()
	case 3:
		r.request(&stroke{noun: "session", verb: "ping", due: true}, m{})
	case 4:
		for id, s := range r.pending {
			if s.lane == nil {
				r.cancel(id)
				break
			}
		}
	case 5, 6, 7, 8:
		r.acquire(l)
	default:
		r.release(l)
	}
}

func (r *rower) compete() {
	s := &stroke{noun: "lock", verb: "acquire", name: shared[r.rand.IntN(len(shared))], due: true}
	params := m{"name": s.name}
	if r.rand.IntN(2) == 0 {
		s.noun, params["limit"] = "semaphore", 2
	}
	if r.rand.IntN(3) == 0 {
		params["token"] = fmt.Sprintf("%s %d %d", r.name, r.serial, r.rand.Uint64())
	}
	if r.rand.IntN(3) > 0 {
		params["wait_ms"], s.due = 60_000, false
	}
	r.request(s, params)
}

func (r *rower) acquire(l *lane) {
	s := &stroke{noun: l.noun, verb: "acquire", name: l.name, lane: l, due: true, want: l.holder == nil && len(l.line) == 0}
	params := m{"name": l.name}
	if l.noun == "semaphore" {
		params["limit"] = 1
	}
	if r.rand.IntN(2) == 0 {
		s.token = fmt.Sprint("token ", r.rand.Uint64())
		params["token"] = s.token
	}
	waits := r.rand.IntN(2) == 0
	if waits {
		params["wait_ms"] = 60_000
	}
	switch {
	case s.want:
		l.holder = s
	case waits:
		s.want, s.due = true, false
		l.line = append(l.line, s)
	}
	r.request(s, params)
}

// release gives back the lane's lease, if the model has a holder whose token is known, and makes
// the next call of the waiting line the holder.
func (r *rower) release(l *lane) {
	s := &stroke{noun: l.noun, verb: "release", name: l.name, lane: l, due: true}
	token := "nobody's"
	if h := l.holder; h != nil && h.token != "" && (h.due || !r.waits(h)) {
		token, s.want, l.holder = h.token, true, nil
	}
	r.request(s, m{"name": l.name, "token": token})
	if s.want && len(l.line) > 0 {
		l.holder, l.line = l.line[0], l.line[1:]
		// The new holder may have no reply yet, so its token may not be known.
	}
}

// waits reports whether a request has no reply so far.
func (r *rower) waits(s *stroke) bool {
	for _, x := range r.pending {
		if x == s {
			return true
		}
	}
	return false
}

func (r *rower) request(s *stroke, params m) {
	r.serial++
	id := int64(r.serial)
	r.pending[id] = s
	params["_deadline_ms"] = 70_000 // by default a call that does not wait has 5 s, which a busy machine may need
	r.batch = append(r.batch, request(r.t, id, s.noun+"."+s.verb, params)...)
}

func (r *rower) cancel(id int64) {
	r.pending[id].cancelled, r.pending[id].due = true, true
	r.batch = append(r.batch, notification(r.t, "rpc.cancel", []any{id})...)
}

// row sends the batch, and reads until all requests that must end in this round have a reply.
func (r *rower) row() error {
	_, err := r.conn.Write(r.batch)
	if r.batch = r.batch[:0]; err != nil {
		return err
	}
	for r.owed() {
		var msg []any
		if err := r.dec.Decode(&msg); err != nil {
			return fmt.Errorf("%d requests have no reply: %w", len(r.pending), err)
		}
		if asInt(msg[0]) == 1 {
			if err := r.reply(asInt(msg[1]), msg[2], msg[3]); err != nil {
				return err
			}
		}
	}
	return nil
}

// owed reports whether a request that must end in this round has no reply yet.
func (r *rower) owed() bool {
	for _, s := range r.pending {
		if s.due || s.lane != nil && s.lane.holder == s {
			return true
		}
	}
	return false
}

func (r *rower) reply(id int64, fault, result any) error {
	s := r.pending[id]
	if s == nil {
		return fmt.Errorf("request %d has a second reply", id)
	}
	delete(r.pending, id)
	if fault != nil {
		if !s.cancelled {
			return fmt.Errorf("%s.%s of %s: %v", s.noun, s.verb, s.name, fault)
		}
		return nil
	}
	got, ok := result.(m)
	if !ok {
		return fmt.Errorf("a result that is no map: %v", result)
	}
	done := got["acquired"] == true || got["released"] == true
	if s.lane != nil && done != s.want && !s.cancelled {
		return fmt.Errorf("%s.%s of %s, token %q: %v, want %v", s.noun, s.verb, s.name, s.token, got, s.want)
	}
	if s.verb == "acquire" && done {
		s.token, _ = got["token"].(string)
		if s.lane == nil && r.rand.IntN(4) > 0 { // the others are given back when the connection closes
			r.give = append(r.give, s)
		}
	}
	return nil
}
