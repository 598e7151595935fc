package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// debugHost is the only host that profiles are served on, so that only programs on this host can take
// them: a profile shows what the program does, and taking one costs CPU.
const debugHost = "127.0.0.1"

// checkDebugAddr refuses every host but debugHost. It refuses names too, since a resolver decides what
// address they have.
func checkDebugAddr(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return usage("--debug-addr %s: %v; write %s:PORT", addr, err, debugHost)
	case host != debugHost:
		return usage("--debug-addr %s: profiles are served on %s only; write %s:PORT", addr, debugHost, debugHost)
	}
	return nil
}

// serveDebug serves the profiles of net/http/pprof until stop is called. It does not serve the command
// line, since the address of Redis on it may have a password.
func serveDebug(addr string, log *slog.Logger) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--debug-addr %s: cannot listen, choose another port: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	// There is no write timeout, since an answer takes as long as the profile that was requested.
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("debug: the listener of --debug-addr ended", "err", err)
		}
	}()
	log.Info("serving profiles", "debug", "http://"+l.Addr().String()+"/debug/pprof/")
	return func() {
		_ = s.Close() // this also ends profiles that are being taken
		<-ended
	}, nil
}
