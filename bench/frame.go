package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// appendCall appends a request whose params are one map of texts, or nothing.
func appendCall(to []byte, id byte, method string, params ...[2]string) []byte {
	to = append(to, 0x94, 0x00, 0xcc, id)
	to = appendText(to, method)
	if len(params) == 0 {
		return append(to, 0x90)
	}
	to = append(to, 0x91, 0x80|byte(len(params)))
	for _, p := range params {
		to = appendText(to, p[0])
		to = appendText(to, p[1])
	}
	return to
}

func appendText(to []byte, s string) []byte {
	if len(s) < 32 {
		return append(append(to, 0xa0|byte(len(s))), s...)
	}
	return append(append(to, 0xd9, byte(len(s))), s...)
}

// isTrue returns the bytes of a key whose value is true, as they are in a result.
func isTrue(key string) []byte { return append(appendText(nil, key), 0xc3) }

// textOf returns the text that a result has for a key, empty for none.
func textOf(answer []byte, key string) string {
	at := appendText(nil, key)
	i := bytes.Index(answer, at)
	if i < 0 {
		return ""
	}
	value := answer[i+len(at):]
	header, body, _ := extent(value)
	return string(value[header : header+body])
}

var errShort = errors.New("more bytes needed")

// response reads [1, id, nil, result] as this program's own requests make the
// sidecar send it, and returns the id and the length of the frame.
func response(b []byte) (id byte, length int, err error) {
	if len(b) < 6 {
		return 0, 0, errShort
	}
	id, rest := b[2], b[3:]
	if id == 0xcc { // uint 8; otherwise the id is a positive fixint
		id, rest = b[3], b[4:]
	} else if id > 0x7f {
		return 0, 0, fmt.Errorf("not a response to this program: % x", b[:6])
	}
	if b[0] != 0x94 || b[1] != 0x01 {
		return 0, 0, fmt.Errorf("not a response to this program: % x", b[:6])
	}
	failed := rest[0] != 0xc0
	begin := rest
	if rest, err = skip(rest, 2); err != nil {
		return 0, 0, err
	}
	if failed {
		return 0, 0, fmt.Errorf("error reply: %q", begin[:len(begin)-len(rest)])
	}
	return id, len(b) - len(rest), nil
}

// skip returns what follows n MessagePack values.
func skip(b []byte, n int) ([]byte, error) {
	for ; n > 0; n-- {
		if len(b) == 0 {
			return nil, errShort
		}
		header, body, inner := extent(b)
		if len(b) < header+body {
			return nil, errShort
		}
		b = b[header+body:]
		n += inner
	}
	return b, nil
}

// extent returns how many bytes a value's header and body take, and how many values
// follow inside it. Ext types are not part of the protocol.
func extent(b []byte) (header, body, inner int) {
	t := b[0]
	size := func(width int) int {
		if len(b) < 1+width {
			return 1 << 30 // more than b has: the caller waits for more bytes
		}
		var wide [8]byte
		copy(wide[8-width:], b[1:1+width])
		return int(binary.BigEndian.Uint64(wide[:]))
	}
	switch {
	case t < 0x80 || t >= 0xe0 || t == 0xc0 || t == 0xc2 || t == 0xc3:
		return 1, 0, 0
	case t < 0x90:
		return 1, 0, 2 * int(t&15)
	case t < 0xa0:
		return 1, 0, int(t & 15)
	case t < 0xc0:
		return 1, int(t & 31), 0
	case t >= 0xc4 && t <= 0xc6: // bin
		w := 1 << (t - 0xc4)
		return 1 + w, size(w), 0
	case t >= 0xd9 && t <= 0xdb: // str
		w := 1 << (t - 0xd9)
		return 1 + w, size(w), 0
	case t == 0xca:
		return 1, 4, 0
	case t == 0xcb:
		return 1, 8, 0
	case t >= 0xcc && t <= 0xcf: // uint
		return 1, 1 << (t - 0xcc), 0
	case t >= 0xd0 && t <= 0xd3: // int
		return 1, 1 << (t - 0xd0), 0
	case t == 0xdc || t == 0xdd: // array
		w := 2 << (t - 0xdc)
		return 1 + w, 0, size(w)
	default: // map, 0xde and 0xdf
		w := 2 << (t - 0xde)
		return 1 + w, 0, 2 * size(w)
	}
}
