package rpc

import (
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// append writes v, a struct of the table's type, as a map. A nil list is written as an
// empty one, and integers are limited to 2^53 on either side.
func (t *table) append(b []byte, v reflect.Value) []byte {
	n := len(t.fields)
	for i := range t.fields {
		if f := &t.fields[i]; f.Optional && v.Field(f.Index).IsZero() {
			n--
		}
	}
	b = appendHeader(b, n, 0x80, 15, 0, 0xde)
	for i := range t.fields {
		f := &t.fields[i]
		fv := v.Field(f.Index)
		if f.Optional && fv.IsZero() {
			continue
		}
		b = append(b, f.key...)
		b = f.append(b, fv)
	}
	return b
}

func (f *field) append(b []byte, v reflect.Value) []byte {
	if f.pointer {
		if v.IsNil() {
			return append(b, 0xc0)
		}
		v = v.Elem()
	}
	switch f.Kind {
	case api.KindInt:
		return appendInt(b, v.Int())
	case api.KindStr:
		return f.appendStr(b, v.String())
	case api.KindBool:
		return appendBool(b, v.Bool())
	case api.KindBin:
		return appendBin(b, v.Bytes())
	case api.KindMap:
		if f.sub == nil {
			return f.appendTexts(b, v)
		}
		return f.sub.append(b, v)
	default:
		return f.appendList(b, v)
	}
}

// appendTexts writes a map whose keys are not fixed by the contract, sorted by key.
func (f *field) appendTexts(b []byte, v reflect.Value) []byte {
	texts, _ := v.Interface().(map[string]string)
	b = appendHeader(b, len(texts), 0x80, 15, 0, 0xde)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		b = f.item.appendStr(f.item.appendStr(b, key), texts[key])
	}
	return b
}

func (f *field) appendList(b []byte, v reflect.Value) []byte {
	n := v.Len()
	b = appendHeader(b, n, 0x90, 15, 0, 0xdc)
	for i := range n {
		if f.sub != nil {
			b = f.sub.append(b, v.Index(i))
		} else {
			b = f.item.append(b, v.Index(i))
		}
	}
	return b
}

// appendInt writes the smallest form, an unsigned one if n is not negative. Clients in
// other languages would round integers beyond 2^53, so those are written as that bound.
func appendInt(b []byte, n int64) []byte {
	n = max(-api.MaxInt, min(n, api.MaxInt))
	switch {
	case n >= 0:
		return appendUint(b, uint64(n))
	case n >= -32:
		return append(b, byte(n))
	case n >= -1<<7:
		return append(b, 0xd0, byte(n))
	case n >= -1<<15:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(n))
	case n >= -1<<31:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
	}
}

func appendUint(b []byte, n uint64) []byte {
	switch {
	case n < 1<<7:
		return append(b, byte(n))
	case n < 1<<8:
		return append(b, 0xcc, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), n)
	}
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

// appendStr writes a text that may have come from a client. Names, ids and tokens may be
// any bytes, and clients fail on a str that is not UTF-8, so such bytes are written as
// bin, unchanged: the client can use them in its next call.
func (f *field) appendStr(b []byte, s string) []byte {
	if f.prose || utf8.ValidString(s) {
		return appendText(b, s)
	}
	return append(appendHeader(b, len(s), 0, -1, 0xc4, 0xc5), s...)
}

// appendText writes text for people. A byte that is not UTF-8 becomes an escape such as \xe9.
func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = escaped(s)
	}
	return append(appendHeader(b, len(s), 0xa0, 31, 0xd9, 0xda), s...)
}

func escaped(s string) string {
	var b strings.Builder
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func appendBin(b, s []byte) []byte {
	return append(appendHeader(b, len(s), 0, -1, 0xc4, 0xc5), s...)
}

// appendHeader writes a length in the smallest of these forms: within the byte fix, for a
// length of at most most; in one byte after the code short (0 = no such form); in two bytes
// after the code long; in four bytes after the code long+1.
func appendHeader(b []byte, n int, fix byte, most int, short, long byte) []byte {
	switch {
	case n <= most:
		return append(b, fix|byte(n))
	case n < 1<<8 && short != 0:
		return append(b, short, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, long), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, long+1), uint32(n))
	}
}
