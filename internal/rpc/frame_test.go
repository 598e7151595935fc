package rpc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/rpc"
)

const (
	frameBytes    = 1 << 20
	frameDepth    = 16
	frameElements = 65_536
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func newSkimmer() *rpc.Skimmer { return rpc.NewSkimmer(frameBytes, frameDepth, frameElements) }

func TestSkimmerFindsTheEndOfEveryForm(t *testing.T) {
	t.Parallel()
	text := func(n int) []byte { return bytes.Repeat([]byte{'x'}, n) }
	for name, value := range map[string][]byte{
		"fixint": {0x7f}, "negative fixint": {0xe0}, "nil": {0xc0}, "false": {0xc2}, "true": {0xc3},
		"uint8": {0xcc, 1}, "uint16": {0xcd, 1, 2}, "uint32": {0xce, 1, 2, 3, 4}, "uint64": {0xcf, 1, 2, 3, 4, 5, 6, 7, 8},
		"int8": {0xd0, 1}, "int16": {0xd1, 1, 2}, "int32": {0xd2, 1, 2, 3, 4}, "int64": {0xd3, 1, 2, 3, 4, 5, 6, 7, 8},
		"float32": {0xca, 1, 2, 3, 4}, "float64": {0xcb, 1, 2, 3, 4, 5, 6, 7, 8},
		"fixstr": append([]byte{0xbf}, text(31)...), "str8": append([]byte{0xd9, 200}, text(200)...),
		"str16": append([]byte{0xda, 1, 0}, text(256)...), "str32": append([]byte{0xdb, 0, 1, 0, 0}, text(65536)...),
		"bin8": append([]byte{0xc4, 3}, text(3)...), "bin16": append([]byte{0xc5, 0, 3}, text(3)...),
		"bin32":   append([]byte{0xc6, 0, 0, 0, 3}, text(3)...),
		"fixext1": {0xd4, 5, 1}, "fixext2": {0xd5, 5, 1, 2}, "fixext4": {0xd6, 5, 1, 2, 3, 4},
		"fixext8": append([]byte{0xd7, 5}, text(8)...), "fixext16": append([]byte{0xd8, 5}, text(16)...),
		"ext8": append([]byte{0xc7, 3, 5}, text(3)...), "ext16": append([]byte{0xc8, 0, 3, 5}, text(3)...),
		"ext32":    append([]byte{0xc9, 0, 0, 0, 3, 5}, text(3)...),
		"fixarray": {0x92, 1, 2}, "array16": {0xdc, 0, 2, 1, 2}, "array32": {0xdd, 0, 0, 0, 2, 1, 2},
		"fixmap": {0x81, 1, 2}, "map16": {0xde, 0, 1, 1, 2}, "map32": {0xdf, 0, 0, 0, 1, 1, 2},
		"empty array": {0x90}, "empty map": {0x80}, "empty array32": {0xdd, 0, 0, 0, 0},
		"nested": {0x93, 0x91, 0x90, 0x81, 0x91, 0x80, 0x90, 0xc0},
	} {
		// Another frame follows, which the skimmer must not read.
		frame := append(append([]byte{0x94, 0, 1, 0xa1, 'm'}, value...), 0x94, 0xc1)
		size, whole, reason := newSkimmer().Skim(frame)
		require.Empty(t, reason, name)
		require.True(t, whole, name)
		require.Equal(t, len(frame)-2, size, name)
	}
}

func TestSkimmerRefusesAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ hex, reason string }{
		"a gigabyte declared in six bytes": {"c940000000ff", "a frame is an array"},
		"a gigabyte within a frame":        {"9400c940000000ff", "at most 1048576"},
		"a bin of 8 MiB":                   {"940001a16d91c600800000", "at most 1048576"},
		"too many elements":                {"940001a16ddd00010001", "65537 elements"},
		"too many pairs":                   {"940001a16ddf00010001", "65537 elements"},
		"too deep":                         {"91919191919191919191919191919191" + "91", "deeper than 16"},
		"never used":                       {"9400c1", "c1"},
		"no array":                         {"81", "a frame is an array"},
	} {
		_, whole, reason := newSkimmer().Skim(unhex(t, c.hex))
		require.False(t, whole, name)
		require.Contains(t, reason, c.reason, name)
	}
}

func TestSkimmerTakesWhatIsJustWithinItsLimits(t *testing.T) {
	t.Parallel()
	deep := bytes.Repeat([]byte{0x91}, frameDepth)
	_, whole, reason := newSkimmer().Skim(append(deep, 0xc0))
	require.True(t, whole, reason)

	wide := binary.BigEndian.AppendUint32([]byte{0xdd}, frameElements)
	_, whole, reason = newSkimmer().Skim(append(wide, make([]byte, frameElements)...))
	require.True(t, whole, reason)

	long := binary.BigEndian.AppendUint32([]byte{0x91, 0xc6}, frameBytes-6)
	size, whole, reason := newSkimmer().Skim(append(long, make([]byte, frameBytes-6)...))
	require.True(t, whole, reason)
	require.Equal(t, frameBytes, size)

	long = binary.BigEndian.AppendUint32([]byte{0x91, 0xc6}, frameBytes-5)
	_, _, reason = newSkimmer().Skim(long)
	require.Contains(t, reason, "at most")
}

func TestSkimmerAllocatesNothing(t *testing.T) {
	frame := request(t, 1, "lock.acquire", map[string]any{"name": "a", "meta": []any{1, map[string]any{"b": nil}}})
	s := newSkimmer()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Reset()
		if _, whole, _ := s.Skim(frame); !whole {
			panic("not whole")
		}
		s.Envelope(frame)
	}))
}

// A frame that arrives in pieces, cut anywhere, is read as one that arrives at once.
func TestSkimmerReadsPiecesAsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		frame := value(t, frameDepth-2)
		frame = append([]byte{0x92, 0}, frame...)
		s := newSkimmer()
		for n := 0; n < len(frame); n += rapid.IntRange(1, 9).Draw(t, "piece") {
			if _, whole, reason := s.Skim(frame[:n]); whole || reason != "" {
				t.Fatalf("%x: whole %v, reason %q after %d of %d bytes", frame, whole, reason, n, len(frame))
			}
		}
		size, whole, reason := s.Skim(frame)
		if !whole || reason != "" || size != len(frame) {
			t.Fatalf("%x: whole %v, reason %q, size %d of %d", frame, whole, reason, size, len(frame))
		}
	})
}

// value draws a random value with containers nested at most depth deep.
func value(t *rapid.T, depth int) []byte {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return []byte{byte(rapid.IntRange(0, 127).Draw(t, "int"))}
	case 1:
		return []byte{0xcb, 1, 2, 3, 4, 5, 6, 7, 8}
	case 2:
		s := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bin")
		return append([]byte{0xc5, 0, byte(len(s))}, s...)
	case 3:
		return []byte{0xc0}
	case 4:
		n := rapid.IntRange(0, 4).Draw(t, "array")
		b := []byte{0xdd, 0, 0, 0, byte(n)}
		for range n {
			b = append(b, value(t, depth-1)...)
		}
		return b
	default:
		n := rapid.IntRange(0, 3).Draw(t, "map")
		b := []byte{0x80 | byte(n)}
		for range 2 * n {
			b = append(b, value(t, depth-1)...)
		}
		return b
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ hex, id, method, params, fault string }{
		"request":               {"940007a16d90", "07", "6d", "90", ""},
		"wide everything":       {"dd00000004d30000000000000000cf0000000000000007c4016ddc0000", "cf0000000000000007", "6d", "dc0000", ""},
		"float type and id":     {"94cb0000000000000000ca40e00000a16dc0", "ca40e00000", "6d", "c0", ""},
		"negative id":           {"9400d0ffa16d80", "d0ff", "6d", "80", ""},
		"notification":          {"9302a16d9101", "", "6d", "9101", ""},
		"empty":                 {"90", "", "", "", "empty"},
		"unknown type":          {"940301a16d90", "", "", "", "type"},
		"a response":            {"940101c0c0", "", "", "", "type"},
		"type alone":            {"9100", "", "", "", "4 elements"},
		"three elements":        {"930007a16d", "07", "", "", "this one has 3"},
		"five elements":         {"950007a16d9090", "07", "", "", "this one has 5"},
		"a msgid that is text":  {"9400a131a16d90", "", "", "", "msgid"},
		"a msgid with fraction": {"9400cb3ff8000000000000a16d90", "", "", "", "msgid"},
		"a method that is none": {"94000763" + "90", "07", "", "", "method"},
		"notification of four":  {"9402a16d9090", "", "", "", "3 elements"},
		"notification of int":   {"93020590", "", "", "", "method"},
	} {
		frame := unhex(t, c.hex)
		s := newSkimmer()
		_, whole, reason := s.Skim(frame)
		require.True(t, whole, "%s: %s", name, reason)
		id, method, params, fault := s.Envelope(frame)
		require.Equal(t, c.id, hex.EncodeToString(id), name)
		if c.fault != "" {
			require.Contains(t, fault, c.fault, name)
			continue
		}
		require.Empty(t, fault, name)
		require.Equal(t, c.method, hex.EncodeToString(method), name)
		require.Equal(t, c.params, hex.EncodeToString(params), name)
	}
}

// walk is a second reader of the format, recursive and without limits. It returns the
// end of the value at i, or -1 when the value is incomplete or not MessagePack.
func walk(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	num := func(width int) int {
		if i+1+width > len(b) {
			return -1
		}
		n := 0
		for _, x := range b[i+1 : i+1+width] {
			n = n<<8 | int(x)
		}
		return n
	}
	body := func(head, n int) int {
		if n < 0 || i+head+n > len(b) {
			return -1
		}
		return i + head + n
	}
	values := func(head, n int) int {
		at := i + head
		for ; n > 0 && at >= 0; n-- {
			at = walk(b, at)
		}
		if n < 0 {
			return -1
		}
		return at
	}
	switch c := b[i]; {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
		return i + 1
	case c <= 0x8f:
		return values(1, 2*int(c&15))
	case c <= 0x9f:
		return values(1, int(c&15))
	case c <= 0xbf:
		return body(1, int(c&31))
	case c >= 0xc4 && c <= 0xc6:
		w := 1 << (c - 0xc4)
		return body(1+w, num(w))
	case c >= 0xc7 && c <= 0xc9:
		w := 1 << (c - 0xc7)
		return body(2+w, num(w))
	case c == 0xca, c == 0xce, c == 0xd2:
		return body(1, 4)
	case c == 0xcb, c == 0xcf, c == 0xd3:
		return body(1, 8)
	case c == 0xcc, c == 0xd0:
		return body(1, 1)
	case c == 0xcd, c == 0xd1:
		return body(1, 2)
	case c >= 0xd4 && c <= 0xd8:
		return body(2, 1<<(c-0xd4))
	case c >= 0xd9 && c <= 0xdb:
		w := 1 << (c - 0xd9)
		return body(1+w, num(w))
	case c == 0xdc, c == 0xdd:
		w := 2 << (c - 0xdc)
		return values(1+w, num(w))
	case c == 0xde, c == 0xdf:
		w := 2 << (c - 0xde)
		if n := num(w); n >= 0 {
			return values(1+w, 2*n)
		}
	}
	return -1
}

// FuzzFrame checks that the skimmer agrees with a plain recursive reader about where a
// frame ends, in one piece and byte by byte, and that the envelope of every frame that
// the skimmer accepts can be read without a panic.
func FuzzFrame(f *testing.F) {
	for _, v := range allVectors(f) {
		f.Add(v)
	}
	f.Add(unhex(f, "c940000000ff"))
	f.Add(bytes.Repeat(unhex(f, "dd00000001"), 17))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := newSkimmer()
		size, whole, reason := s.Skim(b)
		if whole {
			require.Equal(t, walk(b, 0), size)
			s.Envelope(b)
		}
		piecewise := newSkimmer()
		for n := range len(b) {
			gotSize, gotWhole, gotReason := piecewise.Skim(b[:n+1])
			if gotWhole || gotReason != "" {
				require.Equal(t, []any{size, whole, reason}, []any{gotSize, gotWhole, gotReason})
				return
			}
		}
		require.False(t, whole || reason != "", "only in one piece: %x", b)
	})
}
