// Package redistest gives tests a real Redis: $COXSWAIN_TEST_REDIS, else a
// container, else a redis-server process of its own. It says which one was used.
//
// Its invariant: tests share servers by key prefix and never flush one that
// they did not start.
package redistest

import "testing"

// URL returns the shared server of this test binary, started on first use and
// ended by Main. It fails the test when no Redis can be had, saying how to get one.
func URL(t testing.TB) string { t.Helper(); panic("not yet") }

// Prefix returns a key prefix that no other test uses.
func Prefix(t testing.TB) string { t.Helper(); panic("not yet") }

// Main runs the tests, ends what URL started, and checks for leaked goroutines.
// Use it in TestMain of every package whose tests use Redis.
func Main(m *testing.M) { panic("not yet") }

// Server is a redis-server process of one test: it may be stopped, paused and flushed.
type Server struct{}

// Start runs a private server on a free loopback port; it ends with the test.
func Start(t testing.TB, args ...string) *Server { t.Helper(); panic("not yet") }

// URL is the server's redis:// address, the same after a restart.
func (s *Server) URL() string { panic("not yet") }

// Stop ends the process and returns when it is gone; Restart starts it again on the same port.
func (s *Server) Stop()    {}
func (s *Server) Restart() {}
