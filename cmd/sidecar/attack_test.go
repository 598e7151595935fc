package main_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// containerMiB is the chart's memory limit. The Go runtime is given what it takes
// of that, so that the test is of the same process without a cgroup.
const containerMiB = 128

// wire is a client that knows no more than MessagePack and can send what the Go
// client never would.
type wire struct {
	t    testing.TB
	conn net.Conn
	dec  *codec.Decoder
}

func connect(t testing.TB, socket string) *wire {
	t.Helper()
	c, err := net.Dial("unix", socket)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(5*time.Minute)))
	t.Cleanup(func() { _ = c.Close() })
	h := &codec.MsgpackHandle{WriteExt: true}
	h.MapType = reflect.TypeFor[map[string]any]()
	return &wire{t, c, codec.NewDecoder(bufio.NewReader(c), h)}
}

func request(t testing.TB, id int, method string, params map[string]any) []byte {
	t.Helper()
	var b []byte
	require.NoError(t, codec.NewEncoderBytes(&b, &codec.MsgpackHandle{WriteExt: true}).Encode([]any{0, id, method, params}))
	return b
}

// until reads replies until that of the call with this id, and returns how many
// calls before it were answered OVERLOADED.
func (w *wire) until(last int) (overloaded int) {
	w.t.Helper()
	for {
		var m []any
		require.NoError(w.t, w.dec.Decode(&m))
		if strings.Contains(fmt.Sprint(m[2]), "OVERLOADED: ") {
			overloaded++
		}
		if fmt.Sprint(m[1]) == fmt.Sprint(last) {
			return overloaded
		}
	}
}

// must is a small call of a client that does nothing wrong.
func (w *wire) must(method string, params map[string]any) {
	w.t.Helper()
	_, err := w.conn.Write(request(w.t, 1, method, params))
	require.NoError(w.t, err)
	var m []any
	require.NoError(w.t, w.dec.Decode(&m))
	require.Nil(w.t, m[2], "%s: %v", method, m)
}

// What clients may do within the limits of each connection must not outgrow the
// container: the kernel would end the sidecar of the whole pod.
func TestClientsCannotTakeMoreMemoryThanTheContainerHas(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	env := []string{
		fmt.Sprintf("GOMEMLIMIT=%dKiB", containerMiB*1024/10*9), "COXSWAIN_REDIS_PREFIX=" + redistest.Prefix(t), noGrace,
	}
	cmd, log := spawn(t, env, "serve", "--redis", redistest.URL(t), "--socket", socket, "--http", "")
	wait(t, socket)
	good := connect(t, socket)
	served := func() {
		t.Helper()
		good.must("session.ping", nil)
		good.must("lock.acquire", map[string]any{"name": "mine", "token": "t"})
		good.must("queue.enqueue", map[string]any{"queue": "small", "id": "a", "body": make([]byte, 4<<10)})
		require.Less(t, peakMiB(t, cmd.Process.Pid), containerMiB*memoryFactor, log)
	}
	served()

	t.Log("240 connections with a megabyte of an unfinished frame each")
	open := make([]*wire, 240)
	for i := range open {
		open[i] = connect(t, socket)
		head := binary.BigEndian.AppendUint32([]byte{0x94, 0, 7, 0xa1, 'x', 0xc6}, 1<<20-100)
		_, _ = open[i].conn.Write(append(head, make([]byte, 1_000_000)...)) // it may be closed meanwhile
	}
	served()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"read":1048`) }, limit, time.Millisecond,
		"the largest are closed, and the log says so")
	for _, w := range open {
		require.NoError(t, w.conn.Close())
	}

	t.Log("2 connections with 4,096 calls each that wait for a lock")
	overloaded := 0
	good.must("lock.acquire", map[string]any{"name": "l"})
	for range 2 {
		w := connect(t, socket)
		var all bytes.Buffer
		for i := range 4096 {
			all.Write(request(t, i, "lock.acquire", map[string]any{"name": "l", "wait_ms": 60_000}))
		}
		all.Write(request(t, 5000, "session.ping", nil))
		_, err := w.conn.Write(all.Bytes())
		require.NoError(t, err)
		overloaded += w.until(5000)
		served()
	}
	require.Positive(t, overloaded, "more wait than the container has memory for")

	t.Log("1 connection with 1,000 entries of 256 KiB in flight")
	w := connect(t, socket)
	go func() {
		for i := range 1000 {
			_, _ = w.conn.Write(request(t, i, "queue.enqueue", map[string]any{
				"queue": "q", "id": fmt.Sprint(i), "body": make([]byte, 256<<10),
			}))
		}
	}()
	for range 1000 {
		var m []any
		require.NoError(t, w.dec.Decode(&m))
		if m[2] != nil {
			require.Contains(t, fmt.Sprint(m[2]), "OVERLOADED: ")
		}
	}
	served()
}

// peakMiB returns the most anonymous memory that a process has had. The pages of its binary do not count: the kernel drops them
// before it ends a process of the container.
func peakMiB(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	kib := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		var n int
		if _, err := fmt.Sscanf(value, "%d kB", &n); err == nil {
			kib[name] = n
		}
	}
	require.Positive(t, kib["VmHWM"], "%s", text)
	require.Positive(t, kib["RssFile"], "%s", text)
	return (kib["VmHWM"] - kib["RssFile"]) >> 10
}
