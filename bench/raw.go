package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// step is one call of an exchange.
type step struct {
	// frame appends the request with that id and key; last is the answer to the previous
	// step, nil for the first.
	frame func(to []byte, id byte, key string, last []byte) []byte
	// want has to be in the answer; nil accepts any answer but an error.
	want []byte
}

// exchange is a sequence of requests for one key, each sent after the answer to the previous
// one. It counts as one call.
type exchange []step

// rawLoad runs callers spread over connections, with as little work per call
// as possible: one goroutine a connection, which follows each reply with the
// next request and writes all requests that are due at once. It shows the
// sidecar without the cost of the Go client.
func rawLoad(socket string, callers, connections int, d time.Duration, keys keySpace, steps exchange) (tally, error) {
	connections = min(connections, callers)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards all and fail
		all  []time.Duration
		fail error
	)
	start := time.Now()
	for c := range connections {
		wg.Go(func() {
			r := rawConnection{slots: make([]slot, callers/connections), next: keys(c), steps: steps}
			err := r.run(socket, start.Add(d))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, r.latencies...)
			if err != nil && fail == nil { // later errors most likely have the same cause
				fail = fmt.Errorf("connection %d: %w", c, err)
			}
		})
	}
	wg.Wait()
	return summarize(all, time.Since(start)), fail
}

// slot is one caller of a connection; its index is the id of its requests.
type slot struct {
	key   string
	at    int // the step whose answer it waits for
	begun time.Time
}

type rawConnection struct {
	slots     []slot
	next      func() string
	steps     exchange
	out       []byte
	latencies []time.Duration
}

// run makes exchanges until each slot has finished the one that was under way at end.
func (r *rawConnection) run(socket string, end time.Time) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	for id := range r.slots {
		r.begin(byte(id), time.Now())
	}
	in, have := make([]byte, 1<<16), 0
	for open := len(r.slots); open > 0; {
		if _, err := conn.Write(r.out); err != nil {
			return err
		}
		n, err := conn.Read(in[have:])
		if err != nil {
			return err
		}
		now := time.Now()
		have += n
		r.out = r.out[:0]
		at := 0
		for {
			id, length, err := response(in[at:have])
			if errors.Is(err, errShort) {
				break
			}
			if err != nil {
				return err
			}
			ended, err := r.take(id, in[at:at+length], now, end)
			if err != nil {
				return err
			}
			if ended {
				open--
			}
			at += length
		}
		have = copy(in, in[at:have])
	}
	return nil
}

// begin starts the exchange for the next key.
func (r *rawConnection) begin(id byte, now time.Time) {
	r.slots[id] = slot{key: r.next(), begun: now}
	r.out = r.steps[0].frame(r.out, id, r.slots[id].key, nil)
}

// take handles an answer and appends the slot's next request. It reports whether the slot has ended.
func (r *rawConnection) take(id byte, answer []byte, now, end time.Time) (ended bool, err error) {
	s := &r.slots[id]
	if want := r.steps[s.at].want; !bytes.Contains(answer, want) {
		return false, fmt.Errorf("the answer for key %s lacks %q: %q", s.key, want, answer)
	}
	if s.at++; s.at < len(r.steps) {
		r.out = r.steps[s.at].frame(r.out, id, s.key, answer)
		return false, nil
	}
	r.latencies = append(r.latencies, now.Sub(s.begun))
	if now.After(end) {
		return true, nil
	}
	r.begin(id, now)
	return false, nil
}
