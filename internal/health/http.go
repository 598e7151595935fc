package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// Server is the health port.
type Server struct {
	http http.Server
	addr net.Addr
	done chan struct{}
}

// Listen takes addr, http.addr of the configuration, for Serve: before anything
// else starts, so that a port that is taken ends a start in which nothing was served.
func Listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http.addr %q: %w", addr, blocked(err))
	}
	return l, nil
}

// Serve serves h and metrics on what Listen took.
func Serve(l net.Listener, h *Health, metrics http.Handler, log *slog.Logger) *Server {
	s := &Server{addr: l.Addr(), done: make(chan struct{})}
	// The port may be open to the whole cluster, so a slow or silent peer is
	// cut off, and one that is idle soon after. Writing has longest: a scrape of many
	// series takes its time.
	s.http = http.Server{
		Handler:           Handler(h, metrics),
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
			log.Error("health: the HTTP listener ended; probes will fail", "err", err)
		}
	}()
	return s
}

// Port is the check of sidecar doctor that is about the health port.
const Port = "http"

// blocked says why the port cannot be had.
func blocked(err error) *finding.Problem {
	const where = "http.addr (--http, COXSWAIN_HTTP_ADDR)"
	p := &finding.Problem{ID: Port, Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		p.Cause, p.Fix = "the port is taken", "stop what listens there, or set "+where+" to a free one"
	case errors.Is(err, syscall.EACCES):
		p.Cause, p.Fix = "the port needs privileges", "set "+where+" to one from 1024 up"
	default:
		p.Cause, p.Fix = "cannot listen: "+err.Error(), "write "+where+" as host:port, such as :8086"
	}
	return p
}

// Addr is where it listens, with the port that the system chose for port 0.
func (s *Server) Addr() string { return s.addr.String() }

// Stop lets running requests end within ctx, then cuts them off.
func (s *Server) Stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("health: stop the HTTP listener: %w", err), s.http.Close())
	}
	<-s.done
	return err
}

// Handler answers /livez, /readyz, /startupz and /metrics to GET and HEAD.
func Handler(h *Health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", h.answer("live", never(h.live.state)))
	mux.Handle("GET /readyz", h.answer("ready", h.readiness))
	mux.Handle("GET /startupz", h.answer("started", never(h.live.started)))
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing here; try /livez, /readyz, /startupz (each with ?verbose) or /metrics", http.StatusNotFound)
	})
	return mux
}

// never makes a state one that is never degraded.
func never(state func() (bool, []outcome)) func() (good, degraded bool, found []outcome) {
	return func() (good, degraded bool, found []outcome) {
		good, found = state()
		return good, false, found
	}
}

// answer is 200 or 503 with a line for people, or with everything under ?verbose.
func (h *Health) answer(what string, state func() (good, degraded bool, found []outcome)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		good, degraded, found := state()
		status := http.StatusOK
		if !good {
			status = http.StatusServiceUnavailable
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Query().Has("verbose") {
			h.verbose(w, status)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, short(what, good, degraded, found))
	}
}

// short is ok or what is wrong, then what to know all the same. A check that
// failed once is among the latter until it has failed for good.
func short(what string, good, degraded bool, found []outcome) string {
	var b strings.Builder
	bad := problems(found, failed)
	if good && !degraded {
		b.WriteString("ok\n")
	} else {
		state := "not " + what
		if degraded {
			state = "degraded"
		}
		for _, p := range bad {
			fmt.Fprintf(&b, "%s: %s\n", state, p)
		}
		bad = nil
	}
	for _, p := range append(bad, problems(found, warned)...) {
		fmt.Fprintf(&b, "warning: %s\n", p)
	}
	return b.String()
}

// verbose answers with what health.get does, in JSON.
func (h *Health) verbose(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(h.Snapshot()) // the peer went away; there is nobody to tell
}
