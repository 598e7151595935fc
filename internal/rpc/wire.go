package rpc

import (
	"encoding/binary"
	"math"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// kind is the type of a MessagePack value, whatever its width.
type kind uint8

const (
	kindBad kind = iota // 0xc1, which MessagePack never uses
	kindNil
	kindBool
	kindUint
	kindInt
	kindFloat
	kindStr
	kindBin
	kindExt
	kindArray
	kindMap
)

// shape is what follows from the first byte of a value: its kind, and in digits how
// many of the next bytes hold its length or, if that is 0, the length itself. The length
// is how many bytes follow the header; for an array its elements, for a map its pairs.
type shape struct {
	kind   kind
	digits uint8
	length uint8
}

// shapes has the whole MessagePack format in one place, so that the skimmer and
// the cursor cannot disagree about where a value ends.
var shapes = func() (t [256]shape) {
	for b := range 256 {
		switch {
		case b <= 0x7f:
			t[b] = shape{kindUint, 0, 0}
		case b <= 0x8f:
			t[b] = shape{kindMap, 0, uint8(b & 0x0f)}
		case b <= 0x9f:
			t[b] = shape{kindArray, 0, uint8(b & 0x0f)}
		case b <= 0xbf:
			t[b] = shape{kindStr, 0, uint8(b & 0x1f)}
		case b >= 0xe0:
			t[b] = shape{kindInt, 0, 0}
		}
	}
	t[0xc0] = shape{kindNil, 0, 0}
	t[0xc2], t[0xc3] = shape{kindBool, 0, 0}, shape{kindBool, 0, 0}
	t[0xca], t[0xcb] = shape{kindFloat, 0, 4}, shape{kindFloat, 0, 8}
	t[0xdc], t[0xdd] = shape{kindArray, 2, 0}, shape{kindArray, 4, 0}
	t[0xde], t[0xdf] = shape{kindMap, 2, 0}, shape{kindMap, 4, 0}
	for i, width := range []uint8{1, 2, 4, 8} {
		t[0xcc+i] = shape{kindUint, 0, width}
		t[0xd0+i] = shape{kindInt, 0, width}
	}
	for i, width := range []uint8{1, 2, 4} {
		t[0xc4+i] = shape{kindBin, width, 0}
		t[0xc7+i] = shape{kindExt, width, 0}
		t[0xd9+i] = shape{kindStr, width, 0}
	}
	for i, size := range []uint8{1, 2, 4, 8, 16} {
		t[0xd4+i] = shape{kindExt, 0, size + 1} // and the type's byte
	}
	return t
}()

// head reads the header at i. size is the header's own length in bytes; ok is false
// if some of its bytes are missing. length is as the client declared it, unchecked.
func head(b []byte, i int) (k kind, size, length int, ok bool) {
	s := shapes[b[i]]
	size = 1 + int(s.digits)
	switch s.digits {
	case 0:
		return s.kind, size, int(s.length), true
	case 1:
		if len(b) < i+2 {
			return s.kind, size, 0, false
		}
		length = int(b[i+1])
	case 2:
		if len(b) < i+3 {
			return s.kind, size, 0, false
		}
		length = int(binary.BigEndian.Uint16(b[i+1:]))
	default:
		if len(b) < i+5 {
			return s.kind, size, 0, false
		}
		length = int(binary.BigEndian.Uint32(b[i+1:]))
	}
	if s.kind == kindExt {
		length++ // the type's byte
	}
	return s.kind, size, length, true
}

// A cursor reads bytes that the skimmer has accepted: every header is complete and
// every value ends within them, so the cursor checks neither.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) kind() kind { return shapes[c.b[c.i]].kind }

// enter steps over a header and returns the kind and the length that it declares.
func (c *cursor) enter() (kind, int) {
	k, size, length, _ := head(c.b, c.i)
	c.i += size
	return k, length
}

// skip steps over one value and everything in it.
func (c *cursor) skip() {
	for todo := 1; todo > 0; todo-- {
		switch k, length := c.enter(); k {
		case kindArray:
			todo += length
		case kindMap:
			todo += 2 * length
		default:
			c.i += length
		}
	}
}

// text returns the bytes of a str, a bin or an old raw without copying. strict reports
// that it is written as a str, which has to be UTF-8. For any other kind ok is false, and
// nothing is read.
func (c *cursor) text() (s []byte, strict, ok bool) {
	if k := c.kind(); k != kindStr && k != kindBin {
		return nil, false, false
	}
	k, length := c.enter()
	s = c.b[c.i : c.i+length]
	c.i += length
	return s, k == kindStr, true
}

// integer is a whole number of any sign between -2^63 and 2^64-1.
type integer struct {
	abs uint64
	neg bool
}

// small returns the number as an int64, if it is within 2^53 on either side.
func (n integer) small() (int64, bool) {
	if n.abs > api.MaxInt {
		return 0, false
	}
	if n.neg {
		return -int64(n.abs), true
	}
	return int64(n.abs), true
}

// integer reads any integer, or a float that has no fraction and is within 2^53 on either
// side. For any other value ok is false, and nothing is read.
func (c *cursor) integer() (n integer, ok bool) {
	at := c.i
	switch k, length := c.enter(); k {
	case kindUint:
		n.abs = uint64(c.b[at])
		if length > 0 {
			n.abs = c.uint(length)
		}
	case kindInt:
		v := int64(int8(c.b[at]))
		if length > 0 {
			shift := 64 - 8*length
			v = int64(c.uint(length)<<shift) >> shift
		}
		n = integer{abs: uint64(v)}
		if v < 0 {
			n = integer{abs: -uint64(v), neg: true}
		}
	case kindFloat:
		f := c.float(length)
		if f != math.Trunc(f) || math.Abs(f) > api.MaxInt {
			c.i = at
			return n, false
		}
		n = integer{abs: uint64(math.Abs(f)), neg: f < 0}
	default:
		c.i = at
		return n, false
	}
	return n, true
}

func (c *cursor) uint(width int) uint64 {
	var v uint64
	for range width {
		v = v<<8 | uint64(c.b[c.i])
		c.i++
	}
	return v
}

func (c *cursor) float(width int) float64 {
	bits := c.uint(width)
	if width == 8 {
		return math.Float64frombits(bits)
	}
	return float64(math.Float32frombits(uint32(bits)))
}
