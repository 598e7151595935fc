package port

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// maxConns bounds the connections to a port, which may be open to the whole cluster. A kubelet and a
// Prometheus need one each.
const maxConns = 64

// conns bounds the connections of a port. A new connection is always accepted: if there are too many,
// the one that has been without a request for longest is closed, so that idle connections cannot keep
// probes out.
type conns struct {
	mu sync.Mutex // guards what follows
	// all are the open connections. Those without a request are in line, the one that
	// has been idle for longest first.
	all  map[net.Conn]*list.Element
	line list.List
}

func newConns() *conns { return &conns{all: make(map[net.Conn]*list.Element)} }

// changed is http.Server.ConnState.
func (c *conns) changed(nc net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.all[nc]; at != nil {
		c.line.Remove(at)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[nc] = c.line.PushBack(nc)
	case http.StateActive:
		c.all[nc] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.all, nc)
	}
	if len(c.all) <= maxConns {
		return
	}
	// If all others have a request under way, the new one is the only one in line.
	if quiet := c.line.Front(); quiet != nil {
		c.line.Remove(quiet)
		old, _ := quiet.Value.(net.Conn)
		delete(c.all, old)
		_ = old.Close() // the server ends it; there is nobody to tell of an error
	}
}
