package client

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// The envelope is read and written by this package's own code. It is a few bytes, and a
// generic decoder would allocate the params or the result with it, before their type is known.

// Types of frames.
const (
	frameRequest      = 0
	frameResponse     = 1
	frameNotification = 2
)

// maxReplyBytes bounds one frame of the sidecar.
const maxReplyBytes = 4 << 20

var (
	errMalformed = errors.New("the sidecar sent something that is not MessagePack-RPC")
	errTooLong   = errors.New("the sidecar sent a frame of more than 4 MiB")
)

// skim finds the end of a frame in bytes that arrive piecemeal, without
// decoding: it counts the values that are still to come.
type skim struct {
	pos  int // read so far
	left int // values to come; 0 = at the start of a frame
}

// next returns the length of the frame at the start of b, or 0 if more bytes
// are needed. The next call must have the same bytes followed by more.
func (s *skim) next(b []byte) (int, error) {
	if s.left == 0 {
		s.pos, s.left = 0, 1
	}
	for s.left > 0 {
		head, values, ok := header(b[s.pos:])
		if !ok {
			return 0, nil
		}
		if head == 0 {
			return 0, errMalformed
		}
		// Every value to come takes at least a byte, so an impossible length is
		// refused before anything is read for it.
		if head > maxReplyBytes-s.pos || values > maxReplyBytes-s.left {
			return 0, errTooLong
		}
		if s.pos+head > len(b) {
			return 0, nil
		}
		s.pos += head
		s.left += values - 1
	}
	return s.pos, nil
}

// header returns the length in bytes of the value at the start of b, without the
// values within it, and how many values follow within it. A length of 0 means that
// the byte starts no value. It returns ok false if b is too short.
func header(b []byte) (length, values int, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	c := b[0]
	switch {
	case c <= 0x7f || c >= 0xe0:
		return 1, 0, true
	case c <= 0x8f:
		return 1, 2 * int(c&0x0f), true
	case c <= 0x9f:
		return 1, int(c & 0x0f), true
	case c <= 0xbf:
		return 1 + int(c&0x1f), 0, true
	}
	f := formats[c-0xc0]
	if f.size == 0 {
		return f.head, 0, true
	}
	if len(b) < 1+f.size {
		return 0, 0, false
	}
	// It is clipped so that an int of 32 bits does not overflow.
	n := int(min(unsigned(b[1:1+f.size]), maxReplyBytes+1))
	if f.each == 0 {
		return f.head + f.size + n, 0, true
	}
	return f.head + f.size, n * f.each, true
}

// format describes one of the bytes 0xc0 to 0xdf: its fixed length, the size of the
// length field that follows it, and how many values each entry of a container has.
type format struct{ head, size, each int }

var formats = [32]format{
	0x00: {head: 1}, 0x02: {head: 1}, 0x03: {head: 1}, // nil, false, true; c1 is never used
	0x04: {1, 1, 0}, 0x05: {1, 2, 0}, 0x06: {1, 4, 0}, // bin
	0x07: {2, 1, 0}, 0x08: {2, 2, 0}, 0x09: {2, 4, 0}, // ext
	0x0a: {head: 5}, 0x0b: {head: 9}, // float
	0x0c: {head: 2}, 0x0d: {head: 3}, 0x0e: {head: 5}, 0x0f: {head: 9}, // uint
	0x10: {head: 2}, 0x11: {head: 3}, 0x12: {head: 5}, 0x13: {head: 9}, // int
	0x14: {head: 3}, 0x15: {head: 4}, 0x16: {head: 6}, 0x17: {head: 10}, 0x18: {head: 18}, // fixext
	0x19: {1, 1, 0}, 0x1a: {1, 2, 0}, 0x1b: {1, 4, 0}, // str
	0x1c: {1, 2, 1}, 0x1d: {1, 4, 1}, // array
	0x1e: {1, 2, 2}, 0x1f: {1, 4, 2}, // map
}

func unsigned(b []byte) uint64 {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// cursor reads the envelope of a skimmed frame.
type cursor struct{ b []byte }

// take returns the bytes of the next value, without the values within it, and how many of these there are.
func (r *cursor) take() ([]byte, int, bool) {
	n, values, ok := header(r.b)
	if !ok || n == 0 || n > len(r.b) {
		return nil, 0, false
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v, values, true
}

// array reads the header of an array, and returns its length.
func (r *cursor) array() (int, bool) {
	v, values, ok := r.take()
	if !ok || (v[0]&0xf0 != 0x90 && v[0] != 0xdc && v[0] != 0xdd) {
		return 0, false
	}
	return values, true
}

// integer reads an integer of any width that is not negative.
func (r *cursor) integer() (uint64, bool) {
	v, _, ok := r.take()
	if !ok {
		return 0, false
	}
	switch c := v[0]; {
	case c <= 0x7f:
		return uint64(c), true
	case c >= 0xcc && c <= 0xcf:
		return unsigned(v[1:]), true
	default:
		return 0, false
	}
}

// signed reads an integer that an int64 holds.
func (r *cursor) signed() (int64, bool) {
	if len(r.b) == 0 {
		return 0, false
	}
	c := r.b[0]
	if c < 0xd0 || (c > 0xd3 && c < 0xe0) {
		n, ok := r.integer()
		return int64(n), ok && n <= math.MaxInt64
	}
	v, _, ok := r.take()
	if !ok {
		return 0, false
	}
	if c >= 0xe0 {
		return int64(int8(c)), true
	}
	unused := 64 - 8*(len(v)-1)
	return int64(unsigned(v[1:])<<unused) >> unused, true
}

// text reads a str.
func (r *cursor) text() (string, bool) {
	b, ok := r.bytes()
	return string(b), ok
}

// bytes reads a str without copying it.
func (r *cursor) bytes() ([]byte, bool) {
	v, _, ok := r.take()
	if !ok {
		return nil, false
	}
	switch c := v[0]; {
	case c&0xe0 == 0xa0:
		return v[1:], true
	case c >= 0xd9 && c <= 0xdb:
		return v[1+1<<(c-0xd9):], true
	default:
		return nil, false
	}
}

// pairs reads the header of a map, and returns how many pairs it has.
func (r *cursor) pairs() (int, bool) {
	v, values, ok := r.take()
	if !ok || (v[0]&0xf0 != 0x80 && v[0] != 0xde && v[0] != 0xdf) {
		return 0, false
	}
	return values / 2, true
}

// skip skips one value with the values within it.
func (r *cursor) skip() bool {
	for values := 1; values > 0; values-- {
		_, within, ok := r.take()
		if !ok {
			return false
		}
		values += within
	}
	return true
}

func appendUint(b []byte, n uint64) []byte {
	switch {
	case n <= 0x7f:
		return append(b, byte(n))
	case n <= math.MaxUint8:
		return append(b, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), n)
	}
}

func appendText[T string | []byte](b []byte, s T) []byte {
	switch n := len(s); {
	case n <= 31:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

func appendMap(b []byte, pairs int) []byte {
	switch {
	case pairs <= 15:
		return append(b, 0x80|byte(pairs))
	case pairs <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xde), uint16(pairs))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xdf), uint32(pairs))
	}
}

// appendCancel writes the notification that cancels a call.
func appendCancel(b []byte, id uint32) []byte {
	b = appendText(append(b, 0x93, frameNotification), api.RPCCancel.Name)
	return appendUint(append(b, 0x91), uint64(id))
}
