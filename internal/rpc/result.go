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

// append writes v, a struct of the table's type, as a map. Lists are never nil
// and integers never past 2^53.
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

// appendTexts writes a map whose keys are free, sorted by them.
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

// appendInt writes the smallest form, unsigned where it can. Past 2^53 clients
// in other languages would round, so the bound is what is sent.
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

// appendStr writes what came from a client so that it can be used as it is: names,
// ids and tokens may be any bytes, and clients fail on a str that is not UTF-8, so
// that such bytes go back as bin, as they came.
func (f *field) appendStr(b []byte, s string) []byte {
	if f.prose || utf8.ValidString(s) {
		return appendText(b, s)
	}
	return append(appendHeader(b, len(s), 0, -1, 0xc4, 0xc5), s...)
}

// appendText writes text for people. Bytes in it that are not UTF-8 are shown as \xe9.
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

// appendHeader writes a length in the smallest form: in the byte fix up to
// most, in one byte after short (0 = there is no such form), in two after long,
// or in four after the next code.
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
