// Package rpc speaks MessagePack-RPC on a Unix socket: it reads bounded frames,
// finds the method, and turns wire values into calls of package coord and back.
//
// Its invariant: nothing is allocated for a length that a client merely
// declares, every request gets exactly one reply or a closed connection, and a
// connection that closes gives back what it held.
//
// It decides nothing about limits or locks, and never sees Redis.
package rpc

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// Options say where and how to listen.
type Options struct {
	// Path of the socket; its folder is made with mode 0770 when it is missing.
	Path string
	// Mode (0660), UID and GID of the socket; -1 leaves an owner as it is.
	Mode     fs.FileMode
	UID, GID int
	// AllowedUIDs and AllowedGIDs, when not empty, are checked against the
	// peer's credentials: a peer passes that is in either.
	AllowedUIDs, AllowedGIDs []int
	// AdminOff refuses admin methods; AdminUIDs, when not empty, binds them.
	AdminOff  bool
	AdminUIDs []int
	// Limits are those of spec 02; zero values mean its defaults.
	Limits api.Limits
	// WriteTimeout (5 s) is how long a client may leave its replies unread.
	WriteTimeout time.Duration
	// Version is the sidecar's, for session.hello.
	Version   string
	Log       *slog.Logger
	Telemetry *telemetry.Telemetry
}

// Services are what the handlers call.
type Services struct {
	Leases      *coord.Leases
	Locks       *coord.Locks
	RateLimiter *coord.RateLimiter
	// Health answers health.get.
	Health func(context.Context) api.HealthResult
}

// Server serves one socket.
type Server struct{}

// Listen takes the socket's path, taking over the file of a dead sidecar and
// refusing that of a live one, and starts serving.
func Listen(o Options, s Services) (*Server, error) { panic("not yet") }

// Alive reports whether the accept loop runs and the socket still answers: it
// opens a connection to it and pings.
func (s *Server) Alive(ctx context.Context) error { panic("not yet") }

// Connections counts the open ones.
func (s *Server) Connections() int { panic("not yet") }

// Shutdown stops accepting, lets connections finish and close until ctx ends,
// then closes them. What they held is given back by coord.
func (s *Server) Shutdown(ctx context.Context) error { panic("not yet") }
