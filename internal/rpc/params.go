package rpc

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

// metadata is what any params map may carry beside the method's own keys.
type metadata struct {
	// deadline is the time that the client allows for the call, if hasDeadline is set.
	deadline                time.Duration
	hasDeadline             bool
	requestID               string
	traceparent, tracestate string
}

// A mistake describes why one parameter is invalid. Its path is built from the
// inside out, when a mistake is found, so that other calls do not pay for it.
type mistake struct {
	code api.Code
	path string
	text string
}

func (m *mistake) wire() *api.Error {
	text := m.text
	if m.path != "" {
		text = m.path + ": " + text
	}
	return &api.Error{Code: m.code, Message: text}
}

// within puts the key or the index of a container before the path.
func (m *mistake) within(key string) *mistake {
	if m.path == "" || m.path[0] == '[' {
		m.path = key + m.path
	} else {
		m.path = key + "." + m.path
	}
	return m
}

func wrong(key, format string, args ...any) *mistake {
	return &mistake{api.InvalidArgument, key, fmt.Sprintf(format, args...)}
}

// ReadParams decodes params into to, a pointer to a params struct of the contract, with the
// defaults and bounds that apply to a call. The error is an *api.Error.
func ReadParams(params []byte, to any) error {
	v := reflect.ValueOf(to).Elem()
	t := compiled.of(v.Type())
	v.Set(t.blank)
	if bad := decodeParams(t, params, v, &metadata{}); bad != nil {
		return bad.wire()
	}
	return nil
}

// decodeParams reads params, in any of the forms that clients send, into v, a
// struct that holds its defaults.
func decodeParams(t *table, params []byte, v reflect.Value, m *metadata) *mistake {
	c := cursor{b: params}
	k := c.kind()
	if k == kindArray {
		_, n := c.enter()
		if n > 1 {
			return &mistake{api.InvalidRequest, "params", fmt.Sprintf("one map is expected, not %d values: parameters go by name", n)}
		}
		if n == 0 {
			return t.absent(0)
		}
		k = c.kind()
	}
	switch {
	case k == kindNil:
		return t.absent(0)
	case k == kindMap, k == kindArray && emptyAt(c):
		return t.decode(&c, v, m)
	default:
		return &mistake{api.InvalidRequest, "params", "a map is expected, not " + found(c) + ": parameters go by name"}
	}
}

// emptyAt reports whether the array or map at c has no elements: PHP and Lua
// write an empty map as [].
func emptyAt(c cursor) bool {
	_, n := c.enter()
	return n == 0
}

// decode reads a map, or [] for an empty one. m is nil for a nested map, whose
// keys with a leading underscore have no special meaning.
func (t *table) decode(c *cursor, v reflect.Value, m *metadata) *mistake {
	var given, seen uint64
	next := 0
	_, n := c.enter()
	for range n {
		key, _, ok := c.text()
		if !ok {
			return wrong("", "a key is %s; keys are text", found(*c))
		}
		if m != nil && len(key) > 0 && key[0] == '_' {
			if err := m.read(string(key), c); err != nil {
				return err
			}
			continue
		}
		i := t.find(key, next)
		if i < 0 {
			return t.unknown(string(key))
		}
		f := &t.fields[i]
		if seen&(1<<i) != 0 {
			return wrong(f.Name, "it is given twice")
		}
		seen |= 1 << i
		next = i + 1
		if c.kind() == kindNil {
			c.i++
			continue
		}
		if err := f.decode(c, v.Field(f.Index)); err != nil {
			return err
		}
		given |= 1 << i
	}
	return t.absent(given)
}

// absent names the first required key that was not given.
func (t *table) absent(given uint64) *mistake {
	if t.required&^given == 0 {
		return nil
	}
	for i := range t.fields {
		if f := &t.fields[i]; f.Required && given&(1<<i) == 0 {
			return wrong(f.Name, "it is required: %s", f.Doc)
		}
	}
	return nil
}

func (t *table) unknown(key string) *mistake {
	known := "none is known here"
	if len(t.names) > 0 {
		known = "known are " + strings.Join(t.names, ", ")
	}
	if name, ok := nearest.Name(key, t.names); ok {
		known = "did you mean " + name + "?"
	}
	return wrong(shown([]byte(key)), "unknown key; %s", known)
}

func (f *field) decode(c *cursor, v reflect.Value) *mistake {
	if f.pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch f.Kind {
	case api.KindInt:
		return f.decodeInt(c, v)
	case api.KindStr:
		return f.decodeText(c, v)
	case api.KindBool:
		return f.decodeBool(c, v)
	case api.KindBin:
		s, _, ok := c.text()
		if !ok {
			return f.refuse(*c)
		}
		if len(s) > f.MaxLen {
			return wrong(f.Name, "%s, not of %d", f.want, len(s))
		}
		v.SetBytes(append([]byte(nil), s...))
		return nil
	case api.KindMap:
		return f.decodeMap(c, v)
	default:
		return f.decodeList(c, v)
	}
}

func (f *field) decodeInt(c *cursor, v reflect.Value) *mistake {
	at := *c
	n, ok := c.integer()
	small, fits := n.small()
	if !ok || !fits || small < f.Min || small > f.Max {
		return f.refuse(at)
	}
	if small == 0 {
		small = f.Zero
	}
	v.SetInt(small)
	return nil
}

// decodeBool accepts 0 and 1 too, since some languages, such as Perl, have no other booleans.
func (f *field) decodeBool(c *cursor, v reflect.Value) *mistake {
	at := *c
	if c.kind() == kindBool {
		v.SetBool(c.b[c.i] == 0xc3)
		c.i++
		return nil
	}
	n, ok := c.integer()
	if !ok || n.neg || n.abs > 1 {
		return f.refuse(at)
	}
	v.SetBool(n.abs == 1)
	return nil
}

func (f *field) decodeText(c *cursor, v reflect.Value) *mistake {
	at := *c
	s, strict, ok := c.text()
	if !ok || f.Required && len(s) == 0 {
		return f.refuse(at)
	}
	if len(f.Enum) > 0 {
		// Setting the table's own string saves a copy.
		for _, e := range f.Enum {
			if e == string(s) {
				v.SetString(e)
				return nil
			}
		}
		return f.refuse(at)
	}
	if len(s) > f.MaxLen {
		return wrong(f.Name, "%s, not of %d", f.want, len(s))
	}
	if strict && !utf8.Valid(s) {
		return wrong(f.Name, "str is expected to be UTF-8; send other bytes as bin")
	}
	v.SetString(string(s))
	return nil
}

func (f *field) decodeMap(c *cursor, v reflect.Value) *mistake {
	if k := c.kind(); k != kindMap && (k != kindArray || !emptyAt(*c)) {
		return f.refuse(*c)
	}
	if f.sub == nil {
		return f.decodeTexts(c, v)
	}
	v.Set(f.sub.blank)
	if err := f.sub.decode(c, v, nil); err != nil {
		return err.within(f.Name)
	}
	return nil
}

// decodeTexts reads a map whose keys the client chooses. Its keys and texts together may have MaxLen bytes.
func (f *field) decodeTexts(c *cursor, v reflect.Value) *mistake {
	_, n := c.enter()
	texts, size := make(map[string]string), 0
	for range n {
		key, strict, ok := c.text()
		if !ok {
			return wrong(f.Name, "a key is %s; keys are text", found(*c))
		}
		if len(key) == 0 || len(key) > api.MaxNameBytes || strict && !utf8.Valid(key) {
			return wrong(f.Name, "a key has %d bytes; 1 to %d of UTF-8 are expected, or bin", len(key), api.MaxNameBytes)
		}
		name := string(key)
		if _, twice := texts[name]; twice {
			return wrong(shown(key), "it is given twice").within(f.Name)
		}
		text := reflect.New(reflect.TypeFor[string]()).Elem()
		if err := f.item.decodeText(c, text); err != nil {
			return err.within(shown(key)).within(f.Name)
		}
		texts[name] = text.String()
		if size += len(name) + text.Len(); size > f.MaxLen {
			return wrong(f.Name, "the keys and texts have more than %d bytes together", f.MaxLen)
		}
	}
	v.Set(reflect.ValueOf(texts))
	return nil
}

// decodeList grows the list as elements are read: it allocates nothing for a declared length.
func (f *field) decodeList(c *cursor, v reflect.Value) *mistake {
	k := c.kind()
	if k != kindArray && (k != kindMap || !emptyAt(*c)) {
		return f.refuse(*c)
	}
	_, n := c.enter()
	list := v
	list.SetLen(0)
	for i := range n {
		if i == list.Cap() {
			list.Grow(1)
		}
		list.SetLen(i + 1)
		if err := f.decodeItem(c, list.Index(i)); err != nil {
			return err.within("[" + strconv.Itoa(i) + "]").within(f.Name)
		}
	}
	return nil
}

func (f *field) decodeItem(c *cursor, v reflect.Value) *mistake {
	if f.sub == nil {
		return f.item.decode(c, v)
	}
	if k := c.kind(); k != kindMap && (k != kindArray || !emptyAt(*c)) {
		return wrong("", "a map is expected, not %s", found(*c))
	}
	v.Set(f.sub.blank)
	return f.sub.decode(c, v, nil)
}

func (f *field) refuse(c cursor) *mistake {
	return wrong(f.Name, "%s, not %s", f.want, found(c))
}

// read reads the value of one metadata key. It skips unknown keys, and a trace context
// that cannot be read, since neither is a reason to refuse the call.
func (m *metadata) read(key string, c *cursor) *mistake {
	at := *c
	if c.kind() == kindNil {
		c.i++
		return nil
	}
	switch key {
	case api.MetaDeadlineMS:
		n, ok := c.integer()
		if ms, fits := n.small(); ok && fits && ms >= 0 {
			m.deadline, m.hasDeadline = time.Duration(min(ms, api.MaxDeadlineMS))*time.Millisecond, true
			return nil
		}
		return wrong(key, "the milliseconds left, 0 or more, are expected, not %s", found(at))
	case api.MetaRequestID:
		s, _, ok := c.text()
		if ok && len(s) > 0 && len(s) <= api.MaxRequestIDBytes {
			m.requestID = string(s)
			return nil
		}
		return wrong(key, "text of 1 to %d bytes is expected, not %s", api.MaxRequestIDBytes, found(at))
	case api.MetaTraceparent, api.MetaTracestate:
		if s, _, ok := c.text(); ok {
			m.trace(key, s)
			return nil
		}
	}
	c.skip()
	return nil
}

// maxTracestate is the length up to which W3C Trace Context requires a tracestate to be propagated; longer values are
// dropped.
const maxTracestate = 512

func (m *metadata) trace(key string, s []byte) {
	switch {
	case len(s) > maxTracestate:
	case key == api.MetaTraceparent:
		m.traceparent = string(s)
	default:
		m.tracestate = string(s)
	}
}

// maxShown is how many bytes of a client's text an error repeats.
const maxShown = 48

// shown quotes and cuts a client's text, so that an error can repeat it.
func shown(s []byte) string {
	cut := ""
	if len(s) > maxShown {
		s, cut = s[:maxShown], "..."
	}
	q := strconv.Quote(string(s))
	return q[1:len(q)-1] + cut
}

// found describes the value at c, for an error text.
func found(c cursor) string {
	b := c.b[c.i]
	k := c.kind()
	if k == kindFloat {
		_, width := c.enter()
		f := c.float(width)
		if math.IsNaN(f) {
			return "NaN"
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if n, ok := c.integer(); ok {
		sign := ""
		if n.neg {
			sign = "-"
		}
		return sign + strconv.FormatUint(n.abs, 10)
	}
	switch k {
	case kindNil:
		return "nil"
	case kindBool:
		return strconv.FormatBool(b == 0xc3)
	case kindStr, kindBin:
		s, _, _ := c.text()
		return `"` + shown(s) + `"`
	case kindExt:
		return "an extension"
	case kindArray:
		return "a list"
	default:
		return "a map"
	}
}
