package clienttest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// call is one call, or a notification, of a client.
type call struct {
	s        *Sidecar
	cn       *conn
	ctx      context.Context // ends when the call is cancelled or its connection ends
	msgid    int64
	answered bool // the caller gets an answer: it is not a notification
	name     string
	given    map[string]any
	params   any // a pointer to the struct of the contract
	held     bool
}

// method answers calls with the sidecar's mutex held, which it may unlock while it waits.
type method struct {
	spec *api.Spec
	run  func(*call) (any, error)
}

// reply is a stored reply of a request id.
type reply struct {
	method string
	params string
	result any
	err    error
	held   *conn // the session with which the granted lease ends, and the stored reply too; nil = none
}

// define adds a method to a table.
func define[P, R any](to map[string]method, m api.Method[P, R], fn func(*call, *P) (R, error)) {
	to[m.Name] = method{m.Spec, func(c *call) (any, error) {
		r, err := fn(c, c.params.(*P))
		return &r, err
	}}
}

func invalid(format string, args ...any) error {
	return &api.Error{Code: api.InvalidArgument, Message: fmt.Sprintf(format, args...)}
}

// waits reports whether the call may block, and so needs a goroutine of its own.
func (c *call) waits() bool {
	n, ok := c.given[api.ParamWaitMS].(int64)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	_, scripted := c.s.answers[c.name]
	return scripted || ok && n > 0
}

// run carries the call out and answers it.
func (c *call) run() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	result, err := c.answer()
	if c.answered {
		delete(c.cn.cancels, c.msgid)
	}
	switch {
	case !c.answered:
	case err != nil:
		c.cn.send(response, c.msgid, c.cn.fault(err), nil)
	default:
		c.cn.send(response, c.msgid, nil, result)
	}
	s.wake() // after the answer: wake may send messages of the subscription whose id the answer has
}

// gone returns an error if the call was cancelled or its connection has ended, else nil. Such a call must not take
// anything, because nobody would give it back.
func (c *call) gone() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return &api.Error{Code: api.Cancelled, Message: c.name + ": the caller has gone"}
}

// ofSession are the methods that need no Redis.
func ofSession(name string) bool {
	return strings.HasPrefix(name, "session.") || strings.HasPrefix(name, "rpc.")
}

func (c *call) answer() (any, error) {
	s := c.s
	spec, known := api.Lookup(c.name)
	if !known {
		return nil, &api.Error{Code: api.MethodNotFound, Message: c.name + ": no such method"}
	}
	own, scripted := s.answers[c.name]
	model, has := s.methods[c.name]
	if !scripted && !has {
		return nil, unmodelled(c.name)
	}
	if err := c.gone(); err != nil {
		return nil, err
	}
	id, _ := c.given[api.MetaRequestID].(string)
	params := make(map[string]any, len(c.given))
	for key, v := range c.given {
		if !strings.HasPrefix(key, "_") {
			params[key] = v
		}
	}
	if !ofSession(c.name) {
		s.calls = append(s.calls, Call{c.name, params})
	}
	if err := c.read(spec, params); err != nil {
		return nil, err
	}
	if s.failure != nil && !ofSession(c.name) {
		return nil, s.failure
	}
	same := fmt.Sprint(params)
	if before := s.replies[id]; id != "" && before != nil && !spec.Idempotent {
		if before.method != c.name || before.params != same {
			return nil, &api.Error{Code: api.Conflict, Message: api.MetaRequestID + ": it was used before with other parameters; give each call its own"}
		}
		return replayed(before.result), before.err
	}
	var result any
	err := ErrModel
	if scripted {
		result, err = own.run(c)
	}
	if errors.Is(err, ErrModel) {
		if !has {
			return nil, unmodelled(c.name)
		}
		if err := c.gone(); err != nil {
			return nil, err
		}
		result, err = model.run(c)
	}
	if id != "" && err == nil && !spec.Idempotent {
		s.replies[id] = &reply{c.name, same, result, err, nil}
		if c.held {
			s.replies[id].held = c.cn
		}
	}
	return result, err
}

func unmodelled(method string) error {
	return &api.Error{Code: api.MethodNotFound, Message: method + ": clienttest has no model of it; answer it by clienttest.On"}
}

// replayed returns a stored result, marked as replayed if its contract has a key for that.
func replayed(result any) any {
	v := reflect.ValueOf(result).Elem()
	again := reflect.New(v.Type())
	again.Elem().Set(v)
	if f := again.Elem().FieldByName("Replayed"); f.IsValid() {
		f.SetBool(true)
	}
	return again.Interface()
}

// forget deletes the stored replies for which which returns true.
func (s *Sidecar) forget(which func(*reply) bool) {
	for id, r := range s.replies {
		if which(r) {
			delete(s.replies, id)
		}
	}
}

// read decodes the params into the struct of the contract, sets defaults, and checks the bounds in
// the struct's tags.
func (c *call) read(spec *api.Spec, params map[string]any) error {
	p := reflect.New(spec.Params)
	fields := api.Fields(spec.Params)
	for key := range params {
		if !slices.ContainsFunc(fields, func(f api.Field) bool { return f.Name == key }) {
			return invalid("%s: %s: no such parameter", c.name, key)
		}
	}
	var b []byte
	err := codec.NewEncoderBytes(&b, handle()).Encode(params)
	if err == nil {
		err = codec.NewDecoderBytes(b, handle()).Decode(p.Interface())
	}
	if err != nil {
		return invalid("%s: %v", c.name, err)
	}
	for _, f := range fields {
		given, ok := params[f.Name]
		if err := checkField(f, p.Elem().Field(f.Index), given, ok); err != nil {
			return invalid("%s: %s: %v", c.name, f.Name, err)
		}
	}
	c.params = p.Interface()
	return nil
}

func checkField(f api.Field, v reflect.Value, given any, ok bool) error {
	switch {
	case !ok && f.Required, f.Required && v.IsZero() && f.Kind != api.KindInt:
		return errors.New("it is required")
	case !ok && f.Default != "":
		setDefault(f, v)
	}
	switch {
	case f.Kind == api.KindInt && ok:
		n, _ := given.(int64)
		if n < f.Min || n > f.Max {
			return fmt.Errorf("%d is out of bounds; give %d to %d", n, f.Min, f.Max)
		}
	case f.Kind == api.KindStr && v.Kind() == reflect.String:
		text := v.String()
		if len(text) > f.MaxLen {
			return fmt.Errorf("it has %d bytes; give at most %d", len(text), f.MaxLen)
		}
		if len(f.Enum) > 0 && text != "" && !slices.Contains(f.Enum, text) {
			return fmt.Errorf("%q is unknown; use one of %s", text, strings.Join(f.Enum, ", "))
		}
	case f.Kind == api.KindBin && v.Len() > f.MaxLen:
		return fmt.Errorf("it has %d bytes; give at most %d", v.Len(), f.MaxLen)
	}
	return nil
}

func setDefault(f api.Field, v reflect.Value) {
	switch f.Kind {
	case api.KindStr:
		v.SetString(f.Default)
	case api.KindInt:
		n, err := strconv.ParseInt(f.Default, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("clienttest: the default of %s: %v", f.Name, err))
		}
		v.SetInt(n)
	case api.KindBool, api.KindBin, api.KindMap, api.KindList, api.KindAny: // these kinds have no defaults
	}
}

// wake makes all waiting calls try again.
func (s *Sidecar) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
	s.pump()
}

// stand waits in a waiting line, first come, first served, until try succeeds, the wait is over, or
// the caller is gone. The argument turn is true if this call is the first of the line; otherwise try must
// not take anything. Try returns after how long another try can succeed; negative = never.
func (c *call) stand(line string, waitMS int64, try func(turn bool) (ok bool, again time.Duration)) (waitedMS int64, err error) {
	s := c.s
	if ok, again := try(len(s.lines[line]) == 0); ok || waitMS == 0 || again < 0 {
		return 0, nil
	}
	began := s.now()
	end := began.Add(time.Duration(waitMS) * time.Millisecond)
	me := new(int)
	s.lines[line] = append(s.lines[line], me)
	defer func() {
		s.lines[line] = slices.DeleteFunc(s.lines[line], func(t *int) bool { return t == me })
		if len(s.lines[line]) == 0 {
			delete(s.lines, line)
		}
		s.wake()
	}()
	for {
		s.expire()
		ok, again := try(s.lines[line][0] == me)
		now := s.now()
		if ok || again < 0 || !now.Before(end) {
			return now.Sub(began).Milliseconds(), nil
		}
		s.pause(c.ctx, min(again, end.Sub(now)))
		if err := c.gone(); err != nil {
			return 0, err
		}
	}
}
