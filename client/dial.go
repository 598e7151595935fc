package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// helloTimeout bounds the first exchange on a connection, for a socket that accepts
	// connections and does not answer.
	helloTimeout = 5 * time.Second
	// stableAfter is how long a connection must have lasted for the pauses to start over. A
	// connection that breaks right after its hello must not be made again in a tight loop.
	stableAfter = time.Second
	// The pauses between attempts double from firstPause to longestPause. Each varies at
	// random by up to half of itself.
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// ConnectError is the error of a failed connection to the sidecar. Its text contains the cause and the remedy.
type ConnectError struct {
	// Socket is the path that was tried.
	Socket string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("cannot reach the sidecar at %s: %v: %s", e.Socket, e.Err, e.remedy())
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

func (e *ConnectError) remedy() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return "is it running? start it with sidecar serve, or name its socket in " + SocketEnv
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "is it running? the socket's file exists, but no process listens on it"
	case errors.Is(e.Err, fs.ErrPermission):
		return "this user may not open the socket: join its group, or set socket.gid and socket.mode of the sidecar"
	case errors.Is(e.Err, syscall.EINVAL):
		return fmt.Sprintf("the path has %d bytes and a Unix socket takes about 100: choose a shorter one", len(e.Socket))
	default:
		return "is it running, and is this its socket?"
	}
}

// hopeless reports whether a further attempt cannot succeed.
func hopeless(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errProtocol)
}

// errProtocol: another program answers, or a sidecar with another protocol version.
var errProtocol = errors.New("it does not speak protocol version 1")

// keep connects the slot, and connects it again when the connection breaks, until Close.
func (c *Client) keep(s *slot) {
	pause := firstPause
	for c.ctx.Err() == nil {
		began := time.Now()
		cn, err := c.connect(s)
		if err == nil {
			c.o.Logger.Debug("connected to the sidecar", "socket", c.o.Socket, "session", cn.session)
			select {
			case <-cn.dead:
			case <-c.ctx.Done():
				cn.fail(ErrClosed)
			}
			cn.wg.Wait()
			if c.ctx.Err() == nil {
				c.o.Logger.Warn("connection to the sidecar lost", "socket", c.o.Socket, "err", cn.err)
			}
			if time.Since(began) >= stableAfter {
				pause = firstPause
			}
		} else if c.ctx.Err() == nil {
			c.o.Logger.Debug("cannot connect to the sidecar", "socket", c.o.Socket, "err", err)
			c.announce(err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-c.ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// connect makes one connection, introduces the client on it, and makes it available.
func (c *Client) connect(s *slot) (*conn, error) {
	nc, err := c.dial(c.ctx)
	if err != nil {
		// The net.OpError is removed because its text repeats the path.
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, &ConnectError{Socket: c.o.Socket, Err: err}
	}
	cn := newConn(c, s, nc)
	cn.wg.Go(cn.read)
	if err := cn.hello(c.ctx); err != nil {
		cn.fail(err)
		cn.wg.Wait()
		return nil, &ConnectError{Socket: c.o.Socket, Err: err}
	}
	cn.resume(c.ctx)
	if !cn.publish() {
		cn.wg.Wait()
		return nil, &ConnectError{Socket: c.o.Socket, Err: cn.err}
	}
	c.announce(nil)
	return cn, nil
}

// hello introduces the client and gets the sidecar's limits.
func (cn *conn) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	params := api.HelloParams{
		Client: cn.c.o.Client, Version: cn.c.o.Version, Instance: cn.c.o.Instance, Errors: api.ErrorsMap,
	}
	var r api.HelloResult
	cl, err := cn.c.newCall(api.SessionHello.Name, &params)
	if err != nil {
		return err
	}
	defer cn.c.free(cl)
	now := cn.c.now()
	cl.deadline = now + helloTimeout
	if err := cn.roundTrip(ctx, cl, now); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if err := cl.decode(&r); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if r.Protocol != api.ProtocolVersion {
		return fmt.Errorf("hello: server %q %s has protocol %d: %w", r.Server, r.Version, r.Protocol, errProtocol)
	}
	cn.session = r.Session
	cn.mu.Lock()
	defer cn.mu.Unlock()
	cn.maxFrame, cn.maxRunning = int(r.Limits.MaxFrameBytes), int(max(r.Limits.MaxInflight, 1))
	return nil
}
