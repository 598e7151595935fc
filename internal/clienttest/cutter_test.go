package clienttest_test

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// cutter is a proxy between clients and a sidecar that breaks connections on a test's
// command.
type cutter struct {
	socket  string // where clients connect
	sidecar string
	next    atomic.Bool // the next reply is lost together with its connection
	cuts    atomic.Int32
	wg      sync.WaitGroup

	mu   sync.Mutex // guards open
	open []link     // every connection so far
}

// link is one client's connection and the proxy's connection to the sidecar.
type link struct{ client, sidecar net.Conn }

func (l link) cut() {
	_ = l.client.Close()
	_ = l.sidecar.Close()
}

// newCutter starts a proxy in front of a sidecar. It ends with the test.
func newCutter(t testing.TB, sidecar string) *cutter {
	t.Helper()
	c := &cutter{socket: filepath.Join(t.TempDir(), "cut.sock"), sidecar: sidecar}
	l, err := net.Listen("unix", c.socket)
	require.NoError(t, err)
	c.wg.Go(func() { c.accept(l) })
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		for _, l := range c.open {
			l.cut()
		}
		c.mu.Unlock()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		sidecar, err := net.Dial("unix", c.sidecar)
		if err != nil {
			_ = nc.Close()
			continue
		}
		pair := link{nc, sidecar}
		c.mu.Lock()
		c.open = append(c.open, pair)
		c.mu.Unlock()
		c.wg.Go(func() {
			defer pair.cut()
			_, _ = io.Copy(sidecar, nc) // tests break connections, so an error is expected
		})
		c.wg.Go(func() {
			defer pair.cut()
			c.replies(pair)
		})
	}
}

// replies forwards the replies of the sidecar, up to the one that is to be lost, whose call
// the sidecar has carried out.
func (c *cutter) replies(l link) {
	b := make([]byte, 64<<10)
	for {
		n, err := l.sidecar.Read(b)
		if err != nil {
			return
		}
		if c.next.CompareAndSwap(true, false) {
			c.cuts.Add(1)
			return
		}
		if _, err := l.client.Write(b[:n]); err != nil {
			return
		}
	}
}

// kill ends the latest connection, as the end of the client's process would.
func (c *cutter) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[len(c.open)-1].cut()
}
