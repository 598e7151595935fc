package rpc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// hostileFrames is how many frames the test below sends.
const hostileFrames = 2000

// Malformed and hostile frames and params over a real socket cause no crash and no INTERNAL,
// take bounded memory, and do not affect another connection.
func TestHostileFrames(t *testing.T) {
	b := serveAll(t)
	other := b.dial(t)
	other.must("ratelimit.acquire", bucket("warm", 10))
	seeds := allVectors(t)
	for _, s := range api.Methods() {
		seeds = append(seeds, request(t, 1, s.Name, m{}), request(t, 1, s.Name, m{"name": "a", "key": "a", "token": "t", "method": "x"}))
	}
	before := heap()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range hostileFrames {
		frame := mutate(r, seeds[r.IntN(len(seeds))])
		answers := exchange(t, b, frame)
		require.NotContains(t, answers, "INTERNAL", "frame %d: %x", i, frame)
		if i%50 == 0 {
			require.Equal(t, true, other.must("ratelimit.peek", bucket("warm", 10))["allowed"])
		}
	}
	require.NotContains(t, b.log.String(), "level=ERROR")
	eventually(t, "only the other is left", func() bool { return b.Connections() == 1 })
	b.log.reset()
	require.Less(t, heap()-before, int64(8<<20))
	other.alive()
}

// exchange sends one frame on a connection of its own, followed by a ping and
// the end of the stream, and returns all that the server sends.
func exchange(t testing.TB, b *bench, frame []byte) string {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: b.path, Net: "unix"})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write(append(frame, request(t, 4242, "session.ping")...))
	if err == nil {
		err = c.CloseWrite()
	}
	answers, rerr := io.ReadAll(c)
	var timeout net.Error
	for _, e := range []error{err, rerr} {
		require.False(t, errors.As(e, &timeout) && timeout.Timeout(), "%x: %v", frame, e)
	}
	return string(answers)
}

// mutate changes a valid frame into one that is most likely invalid.
func mutate(r *rand.Rand, seed []byte) []byte {
	b := bytes.Clone(seed)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b) + 1)
		switch r.IntN(7) {
		case 0: // another byte
			if at < len(b) {
				b[at] = byte(r.Uint32())
			}
		case 1: // cut short
			b = b[:at]
		case 2: // a declared length without its body
			b = append(binary.BigEndian.AppendUint32(append(bytes.Clone(b[:at]), hostileHeads[r.IntN(len(hostileHeads))]), r.Uint32()), b[at:]...)
		case 3: // random bytes inserted
			noise := make([]byte, r.IntN(20))
			for i := range noise {
				noise[i] = byte(r.Uint32())
			}
			b = append(append(bytes.Clone(b[:at]), noise...), b[at:]...)
		case 4: // a value in place of another
			v := hostileValues[r.IntN(len(hostileValues))]
			b = append(append(bytes.Clone(b[:at]), v...), b[min(len(b), at+1):]...)
		case 5: // nesting
			b = append(bytes.Repeat([]byte{0x91}, r.IntN(20)), b...)
		case 6: // repeated
			b = append(b, b...)
		}
		if len(b) == 0 {
			b = []byte{0xc1}
		}
	}
	return b
}

var hostileHeads = []byte{0xc6, 0xc9, 0xdb, 0xdd, 0xdf, 0xd2, 0xce, 0xca}

var hostileValues = [][]byte{
	{0xcb, 0x7e, 0x37, 0xe4, 0x3c, 0x88, 0x00, 0x75, 0x9c}, // 1e300
	{0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 1},                   // NaN
	{0xcf, 255, 255, 255, 255, 255, 255, 255, 255},         // the largest uint64
	{0xd3, 128, 0, 0, 0, 0, 0, 0, 0},                       // the least int64
	{0xc7, 0, 1},
	{0xd8, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, // extensions
	{0xa2, 0xff, 0xfe},
	{0xa1, 0},
	{0xa0},
	{0xc4, 0},
	{0x80},
	{0x90},
	{0xc0},
	append([]byte{0xda, 2, 1}, strings.Repeat("n", 513)...),
	append([]byte{0xa8}, "}{:%\x00\n\r\x1b"...),
	append([]byte{0xac}, "_deadline_ms"...), append([]byte{0xab}, "_request_id"...),
}
