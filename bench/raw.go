package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// rawLoad is the load of callers spread over connections, made with as little
// work per call as a client can: one goroutine a connection, which writes all
// requests that it owes at once and answers each reply with the next request.
// It shows the sidecar without the cost of the Go client.
func rawLoad(socket string, callers, connections int, d time.Duration, request func(to []byte, id byte, key string) []byte) (load, error) {
	connections = min(connections, callers)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards all and errs
		all  []time.Duration
		errs error
	)
	start := time.Now()
	for c := range connections {
		wg.Go(func() {
			slots := callers / connections
			latencies, err := rawConnection(socket, slots, start.Add(d), keySequence(c), request)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, latencies...)
			errs = errors.Join(errs, err)
		})
	}
	wg.Wait()
	return summarize(all, time.Since(start)), errs
}

func rawConnection(
	socket string, slots int, end time.Time, next func() string, request func([]byte, byte, string) []byte,
) ([]time.Duration, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var latencies []time.Duration
	sent := make([]time.Time, slots)
	var out []byte
	for id := range slots {
		out = request(out, byte(id), next())
		sent[id] = time.Now()
	}
	in, have := make([]byte, 1<<16), 0
	for open := slots; open > 0; {
		if _, err := conn.Write(out); err != nil {
			return latencies, err
		}
		n, err := conn.Read(in[have:])
		if err != nil {
			return latencies, err
		}
		now := time.Now()
		have += n
		out = out[:0]
		at := 0
		for {
			id, length, err := response(in[at:have])
			if errors.Is(err, errShort) {
				break
			}
			if err != nil {
				return latencies, err
			}
			at += length
			latencies = append(latencies, now.Sub(sent[id]))
			if now.After(end) {
				open--
				continue
			}
			out = request(out, id, next())
			sent[id] = now
		}
		have = copy(in, in[at:have])
	}
	return latencies, nil
}

// acquireRequest appends the frame of ratelimit.acquire {rule, key}.
func acquireRequest(to []byte, id byte, key string) []byte {
	to = append(to, 0x94, 0x00, 0xcc, id)
	to = appendText(to, "ratelimit.acquire")
	to = append(to, 0x91, 0x82)
	to = appendText(to, "rule")
	to = appendText(to, ruleName)
	to = appendText(to, "key")
	return appendText(to, key)
}

// pingRequest appends the frame of session.ping.
func pingRequest(to []byte, id byte, _ string) []byte {
	to = append(to, 0x94, 0x00, 0xcc, id)
	to = appendText(to, "session.ping")
	return append(to, 0x90)
}

// echoRequest appends a frame of 64 bytes that is its own response.
func echoRequest(to []byte, id byte, _ string) []byte {
	to = append(to, 0x94, 0x01, 0xcc, id, 0xc0, 0xc4, 57)
	return append(to, make([]byte, 57)...)
}

func appendText(to []byte, s string) []byte {
	return append(append(to, 0xa0|byte(len(s))), s...)
}

var errShort = errors.New("more bytes needed")

// response reads [1, id, nil, result] as this program's own requests make the
// sidecar send it, and returns the id and the length of the frame.
func response(b []byte) (id byte, length int, err error) {
	if len(b) < 6 {
		return 0, 0, errShort
	}
	if b[0] != 0x94 || b[1] != 0x01 || b[2] != 0xcc {
		return 0, 0, fmt.Errorf("not a response to this program: % x", b[:6])
	}
	rest, err := skip(b[4:], 2)
	if err != nil {
		return 0, 0, err
	}
	if b[4] != 0xc0 {
		return 0, 0, fmt.Errorf("error reply: %q", b[4:len(b)-len(rest)])
	}
	return b[3], len(b) - len(rest), nil
}

// skip passes n MessagePack values.
func skip(b []byte, n int) ([]byte, error) {
	for ; n > 0; n-- {
		if len(b) == 0 {
			return nil, errShort
		}
		header, body, inner := extent(b)
		if len(b) < header+body {
			return nil, errShort
		}
		b = b[header+body:]
		n += inner
	}
	return b, nil
}

// extent is how many bytes a value's header and body take, and how many values
// follow inside it. Ext types are not part of the protocol.
func extent(b []byte) (header, body, inner int) {
	t := b[0]
	size := func(width int) int {
		if len(b) < 1+width {
			return 1 << 30 // more than there is: the caller waits for more bytes
		}
		var wide [8]byte
		copy(wide[8-width:], b[1:1+width])
		return int(binary.BigEndian.Uint64(wide[:]))
	}
	switch {
	case t < 0x80 || t >= 0xe0 || t == 0xc0 || t == 0xc2 || t == 0xc3:
		return 1, 0, 0
	case t < 0x90:
		return 1, 0, 2 * int(t&15)
	case t < 0xa0:
		return 1, 0, int(t & 15)
	case t < 0xc0:
		return 1, int(t & 31), 0
	case t >= 0xc4 && t <= 0xc6: // bin
		w := 1 << (t - 0xc4)
		return 1 + w, size(w), 0
	case t >= 0xd9 && t <= 0xdb: // str
		w := 1 << (t - 0xd9)
		return 1 + w, size(w), 0
	case t == 0xca:
		return 1, 4, 0
	case t == 0xcb:
		return 1, 8, 0
	case t >= 0xcc && t <= 0xcf: // uint
		return 1, 1 << (t - 0xcc), 0
	case t >= 0xd0 && t <= 0xd3: // int
		return 1, 1 << (t - 0xd0), 0
	case t == 0xdc || t == 0xdd: // array
		w := 2 << (t - 0xdc)
		return 1 + w, 0, size(w)
	default: // map, 0xde and 0xdf
		w := 2 << (t - 0xde)
		return 1 + w, 0, 2 * size(w)
	}
}
