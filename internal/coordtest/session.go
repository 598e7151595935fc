package coordtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/lease"
)

// patience bounds waits for something that never comes. No outcome depends on it.
const patience = 30 * time.Second

// Session is a session whose losses a test can wait for.
type Session struct {
	*coord.Session
	// Lost receives the losses that were reported.
	Lost   chan coord.Loss
	leases *lease.Leases
}

// OpenSession opens a session until the test ends.
func OpenSession(t *testing.T, s *Sidecar) Session {
	t.Helper()
	lost := make(chan coord.Loss, 100)
	c := Session{s.Leases.Open(coord.Identity{Client: "test"}, func(l coord.Loss) { lost <- l }), lost, s.Leases}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// Close ends the session, and gives back its leases.
func (c Session) Close(ctx context.Context) { c.leases.Close(ctx, c.Session) }

// Holding reports whether the session holds any lease.
func (c Session) Holding() bool { return c.leases.Holding(c.Session) }

// Caller returns a caller of the session.
func (c Session) Caller() coord.Caller { return coord.Caller{Session: c.Session} }

// Loss waits for the next loss.
func (c Session) Loss(t *testing.T) coord.Loss {
	t.Helper()
	select {
	case l := <-c.Lost:
		return l
	case <-time.After(patience):
		t.Fatal("no loss is told")
		return coord.Loss{}
	}
}

// RequireCode requires an error with this code whose text contains this part.
func RequireCode(t *testing.T, err error, code api.Code, text string) {
	t.Helper()
	var e *coord.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, "%v", err)
	require.Contains(t, e.Err.Error(), text)
}

// Until polls until a condition holds.
func Until(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !is() {
		require.NoError(t, ctx.Err(), "it never does")
	}
}
