package clienttest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// pipelined calls a sidecar with prepared frames, so that all allocations during a round are the
// sidecar's.
type pipelined struct {
	nc         net.Conn
	frames     []byte
	ids        []int // where in frames the four bytes of each message id are
	requestIDs []int // where the digits of request ids are
	next       uint32
	read       [64 << 10]byte
}

// digits is a placeholder for a request id in the params, which each round replaces.
const digits = "0000000000"

func newPipelined(t *testing.T, socket string, params []any) *pipelined {
	nc, err := net.Dial("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, nc.Close()) })
	p := &pipelined{nc: nc}
	var body []byte
	e := codec.NewEncoderBytes(&body, &codec.MsgpackHandle{WriteExt: true})
	for _, v := range params {
		e.ResetBytes(&body)
		e.MustEncode([]any{api.RatelimitAcquire.Name, []any{v}})
		p.frames = append(p.frames, 0x94, 0, 0xce)
		p.ids = append(p.ids, len(p.frames))
		p.frames = append(append(p.frames, 0, 0, 0, 0), body[1:]...) // without the array's head, which is written above
		if at := bytes.Index(p.frames[p.ids[len(p.ids)-1]:], []byte(digits)); at >= 0 {
			p.requestIDs = append(p.requestIDs, p.ids[len(p.ids)-1]+at)
		}
	}
	return p
}

// round makes all calls and waits until each is answered.
func (p *pipelined) round(t *testing.T) {
	for _, at := range p.ids {
		p.next++
		binary.BigEndian.PutUint32(p.frames[at:], p.next)
	}
	for i, at := range p.requestIDs {
		copy(p.frames[at:], fmt.Appendf(p.read[:0], "%010d", int(p.next)+i))
	}
	_, err := p.nc.Write(p.frames)
	require.NoError(t, err)
	head := []byte{0x94, 1, 0xce}
	for answered, kept := 0, 0; answered < len(p.ids); {
		n, err := p.nc.Read(p.read[kept:])
		require.NoError(t, err)
		n += kept
		answered += bytes.Count(p.read[:n], head)
		// The last bytes may be the first ones of a head.
		kept = min(n, len(head)-1)
		copy(p.read[:], p.read[n-kept:n])
	}
}

// A call whose frame is read together with others allocates only its params, its keys, its grant
// and Redis's reply.
func TestCallsOnTheDirectPathAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const calls, rounds = 64, 200
	for _, c := range []struct {
		name string
		id   string
		most float64
	}{
		{"without a request id", "", 17},
		{"with a request id", digits, 22},
	} {
		t.Run(c.name, func(t *testing.T) {
			var params []any
			for i := range calls {
				m := map[string]any{
					"key": fmt.Sprint("key ", i), "algorithm": api.AlgorithmTokenBucket,
					"limits": []api.Band{{Limit: 1_000_000, PeriodMS: 1000}},
				}
				if c.id != "" {
					m["_request_id"] = c.id
				}
				params = append(params, m)
			}
			p := newPipelined(t, live(t), params)
			for range 20 { // until everything that is reused has been allocated
				p.round(t)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range rounds {
				p.round(t)
			}
			runtime.ReadMemStats(&after)
			each := float64(after.Mallocs-before.Mallocs) / (calls * rounds)
			t.Logf("%.1f allocations a call", each)
			require.LessOrEqual(t, each, c.most)
		})
	}
}
