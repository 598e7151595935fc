package redis_test

import (
	"io"
	"net"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

func TestAFailedWriteReturnsTheErrorThatTheServerSentBeforeItClosed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	const denied = "DENIED Redis is running in protected mode"
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "-"+denied+"\r\n")
		_ = c.Close() // unread
	}()
	t.Cleanup(func() { _ = l.Close(); <-served })
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	c := redis.Tracked(raw)
	defer func() { require.NoError(t, c.Close()) }()
	for err == nil { // the first write may succeed before the reset of the connection arrives
		_, err = c.Write([]byte("*1\r\n$4\r\nping\r\n"))
	}
	require.ErrorContains(t, err, denied)
	var reply goredis.Error
	require.ErrorAs(t, err, &reply)
}
