package client

import (
	"context"
	"net"
	"time"
)

// What tests outside the package need of its inside.

// DialBy is Dial with a way to connect of the test's own.
func DialBy(ctx context.Context, o Options, dial func(context.Context) (net.Conn, error)) (*Client, error) {
	c := newClient(o)
	c.dial = dial
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// RequestFrame is the frame of one call.
func RequestFrame(ctx context.Context, c *Client, method string, params any, idempotent bool, msgid uint32, left time.Duration) ([]byte, error) {
	cl, err := c.newCall(method, params)
	if err != nil {
		return nil, err
	}
	cl.describe(ctx, c, invocation{method: method, idempotent: idempotent})
	return cl.append(nil, msgid, left), nil
}

// CancelFrame is the frame that cancels a call.
func CancelFrame(msgid uint32) []byte { return appendCancel(nil, msgid) }

// ReadReply reads the envelope and the body of a response.
func ReadReply(frame []byte, result any) (msgid uint64, err error) {
	r := cursor{frame}
	r.array()
	r.integer()
	msgid, _ = r.integer()
	return msgid, decodeReply(blankCall().(*call).dec, r.b, result, "")
}

// Skim finds the end of the frame at the start of b, given n bytes at a time.
func Skim(b []byte, n int) (int, error) {
	var s skim
	for end := min(n, len(b)); ; end = min(end+n, len(b)) {
		length, err := s.next(b[:end])
		if length > 0 || err != nil || end == len(b) {
			return length, err
		}
	}
}

// MaxSends is how often a call is sent.
const MaxSends = maxSends

// Unreached is why the client's latest try to connect failed.
func Unreached(c *Client) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
}

// Led is how often callers began to read the client's first connection themselves.
func Led(c *Client) uint32 {
	cn := c.slots[0].up.Load()
	if cn == nil {
		return 0
	}
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.led
}

// Glance is how often the background reader looks while it has stepped aside.
const Glance = glance

// WritePlain is params as a MessagePack map, written without the library; not ok = they
// cannot be.
func WritePlain(params any) (b []byte, ok bool) {
	cl := blankCall().(*call)
	ok = cl.write(params)
	return append(appendMap(nil, cl.pairs), cl.params...), ok
}

// ReadPlain reads a map into what result points to, without the library.
func ReadPlain(b []byte, result any) bool {
	s, v := shapeOf(result)
	return s.read(b, v, "")
}

// ReadByLibrary reads a value by the library alone.
func ReadByLibrary(b []byte, result any) error {
	return decode(blankCall().(*call).dec, b, result)
}

// Alarms is how many leases of the client are to be checked.
func Alarms(c *Client) int {
	c.alarms.mu.Lock()
	defer c.alarms.mu.Unlock()
	return len(c.alarms.heap)
}
