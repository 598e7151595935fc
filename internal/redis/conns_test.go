package redis_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

// exchange is a connection whose other side reads everything. The test makes it answer and
// close the connection.
type exchange struct {
	net.Conn
	server net.Conn
	read   chan struct{}
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	client, server := net.Pipe()
	e := &exchange{redis.Tracked(client), server, make(chan struct{})}
	go func() { defer close(e.read); _, _ = io.Copy(io.Discard, server) }()
	t.Cleanup(func() { _, _ = client.Close(), server.Close(); <-e.read })
	return e
}

func (e *exchange) write(t *testing.T, text string) {
	t.Helper()
	_, err := e.Write([]byte(text))
	require.NoError(t, err)
}

func (e *exchange) answer(t *testing.T, text string) {
	t.Helper()
	sent := make(chan error, 1)
	go func() { _, err := e.server.Write([]byte(text)); sent <- err }()
	_, err := io.ReadFull(e, make([]byte, len(text)))
	require.NoError(t, err)
	require.NoError(t, <-sent)
}

func (e *exchange) hangUp() { _ = e.server.Close() }

const evalsha = "*3\r\n$7\r\nevalsha\r\n"

func TestWhatAFailedConnectionCanHaveLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(t *testing.T, e *exchange)
		fail   func(e *exchange) error
		notRun bool
	}{
		"first write": {
			func(*testing.T, *exchange) {}, write, true,
		},
		"reply to the handshake": {
			func(t *testing.T, e *exchange) { e.write(t, "*1\r\nhello\r\n") }, read, true,
		},
		"reply to a script": {
			func(t *testing.T, e *exchange) { e.write(t, evalsha) }, read, false,
		},
		"rest of a pipeline's replies": {
			func(t *testing.T, e *exchange) { e.write(t, evalsha); e.answer(t, ":1\r\n") }, read, false,
		},
		"write after a reply": {
			func(t *testing.T, e *exchange) { e.write(t, evalsha); e.answer(t, ":1\r\n") }, write, true,
		},
		"second write of a pipeline": {
			func(t *testing.T, e *exchange) { e.write(t, evalsha) }, write, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExchange(t)
			c.before(t, e)
			e.hangUp()
			err := c.fail(e)
			require.Error(t, err)
			require.Equal(t, c.notRun, redis.CertainlyNotRun(err), "%v", err)
		})
	}
}

func write(e *exchange) error { _, err := e.Write([]byte(evalsha)); return err }
func read(e *exchange) error  { _, err := e.Read(make([]byte, 9)); return err }

func TestDeadlineThatCannotBeSetLosesNothing(t *testing.T) {
	t.Parallel()
	e := newExchange(t)
	require.NoError(t, e.Close())
	require.True(t, redis.CertainlyNotRun(e.SetWriteDeadline(time.Now())))
	require.True(t, redis.CertainlyNotRun(e.SetReadDeadline(time.Now())))
}

func TestConnectionClosedInSetupNamesTheReason(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, why := range []string{"maxclients", "refused", "closed", "lost"} {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		require.Equal(t, why, redis.ClosedInSetup(c, why))
	}
}

func TestOnlyLastingFailuresStartAProbe(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		io.EOF:                      true,
		io.ErrClosedPipe:            true,
		goredis.ErrPoolTimeout:      false,
		context.Canceled:            false,
		reply("LOADING wait"):       true,
		reply("MASTERDOWN wait"):    true,
		reply("NOAUTH who"):         true,
		reply("OOM full"):           true,
		reply("BUSY wait"):          true,
		reply("TRYAGAIN moving"):    false,
		reply("NOSCRIPT gone"):      false,
		reply("WRONGTYPE of a key"): false,
	} {
		require.Equal(t, want, redis.Suspect(err), "%v", err)
	}
}

// reply is an error that Redis answered.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}
