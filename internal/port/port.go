// Package port is a TCP port of the sidecar that answers HTTP: the health port and that of the status page.
//
// Its invariant: no peer can hold it up. Slow and silent ones are cut off, connections are bounded, and a new one is always let in.
//
// What it answers is given to it.
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

// Setting is where a port is set.
type Setting struct {
	Path     string // in the file: http.addr
	Flag     string // --http
	Variable string // COXSWAIN_HTTP_ADDR
	Example  string // of an address
}

// Server answers on a port.
type Server struct {
	what string
	http http.Server
	addr net.Addr
	done chan struct{}
}

// Listen takes an address, for Serve: before anything else starts, so that a port that is taken ends a start in which nothing was
// served.
func (s Setting) Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", s.Path, addr, s.blocked(err))
	}
	return l, nil
}

// Check is the check of sidecar doctor that is about ports.
const Check = "http"

// blocked says why the port cannot be had.
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

// Serve answers on what Listen took. What names the port in the log.
func Serve(what string, l net.Listener, h http.Handler, log *slog.Logger) *Server {
	s := &Server{what: what, addr: l.Addr(), done: make(chan struct{})}
	// The port may be open to the whole cluster, so a slow or silent peer is
	// cut off, and one that is idle soon after. Writing has longest: a scrape of many
	// series takes its time.
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

// Addr is where it listens, with the port that the system chose for port 0.
func (s *Server) Addr() string { return s.addr.String() }

// Stop lets running requests end within ctx, then cuts them off.
func (s *Server) Stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: stop the HTTP listener: %w", s.what, err), s.http.Close())
	}
	<-s.done
	return err
}
