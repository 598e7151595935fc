// Package port serves HTTP on a TCP port of the sidecar: the health port and that of the status page.
//
// Invariant: no peer can keep others from the port. Slow and silent peers are disconnected, the number of connections is bounded,
// and a new one is always accepted.
//
// Its callers provide the handler.
package port

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// Setting names the places where the address of a port is set, for errors.
type Setting struct {
	Path     string // in the file: http.addr
	Flag     string // --http
	Variable string // COXSWAIN_HTTP_ADDR
	Example  string // of an address
}

// Server serves HTTP on a port.
type Server struct {
	what string
	http http.Server
	addr net.Addr
	done chan struct{}
}

// Listen listens on an address, for Serve. It is called before anything else starts, so that a sidecar whose port is in use ends before
// it serves a call.
func (s Setting) Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", s.Path, addr, s.blocked(err))
	}
	return l, nil
}

// Check is the name of the check of sidecar doctor for ports.
const Check = "http"

// blocked makes the problem of a port on which Listen failed: its cause and its fix.
func (s Setting) blocked(err error) *finding.Problem {
	where := fmt.Sprintf("%s (%s, %s)", s.Path, s.Flag, s.Variable)
	p := &finding.Problem{ID: Check, Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		p.Cause, p.Fix = "the port is taken", "stop what listens there, or set "+where+" to a free one"
	case errors.Is(err, syscall.EACCES):
		p.Cause, p.Fix = "the port needs privileges", "set "+where+" to one from 1024 up"
	default:
		p.Cause, p.Fix = "cannot listen: "+err.Error(), "write "+where+" as host:port, such as "+s.Example
	}
	return p
}

// Serve serves HTTP on a listener that Listen returned. What names the port in the log.
func Serve(what string, l net.Listener, h http.Handler, log *slog.Logger) *Server {
	s := &Server{what: what, addr: l.Addr(), done: make(chan struct{})}
	// The port may be open to the whole cluster, so slow, silent and idle peers are disconnected.
	// Writing has the longest limit, since a scrape of many series takes long.
	s.http = http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       15 * time.Second,
		ConnState:         newConns().changed,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error(what+": the HTTP listener ended and answers no more; restart the sidecar", "err", err)
		}
	}()
	return s
}

// Addr returns the address on which it listens, with the port that the system chose for port 0.
func (s *Server) Addr() string { return s.addr.String() }

// Stop lets running requests end until ctx ends, and then closes their connections.
func (s *Server) Stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: stop the HTTP listener: %w", s.what, err), s.http.Close())
	}
	<-s.done
	return err
}
