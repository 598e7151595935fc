package main

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestResponseReadsWholeFramesOnly(t *testing.T) {
	t.Parallel()
	// [1, 7, nil, {"allowed": true, "n": 300, "t": 2^32, "s": str8, "l": [-1, 1.5], "b": bin}]
	frame, err := hex.DecodeString("9401cc07c0" + "86" +
		"a7616c6c6f776564" + "c3" +
		"a16e" + "cd012c" +
		"a174" + "cf0000000100000000" +
		"a173" + "d903616263" +
		"a16c" + "92" + "ff" + "cb3ff8000000000000" +
		"a162" + "c4020001")
	if err != nil {
		t.Fatal(err)
	}
	for cut := range frame {
		if _, _, err := response(frame[:cut]); !errors.Is(err, errShort) {
			t.Fatalf("the first %d bytes: %v", cut, err)
		}
	}
	id, length, err := response(append(frame, 0x94))
	if err != nil || id != 7 || length != len(frame) {
		t.Fatalf("got id %d, length %d of %d, %v", id, length, len(frame), err)
	}
}

func TestResponseRefusesAnErrorReply(t *testing.T) {
	t.Parallel()
	frame := append([]byte{0x94, 0x01, 0xcc, 0x00, 0x92, 0x01}, appendText(nil, "NOT_FOUND: no rule")...)
	frame = append(frame, 0xc0)
	if _, _, err := response(frame); err == nil || errors.Is(err, errShort) {
		t.Fatalf("got %v", err)
	}
}

func TestRawLoadCountsEveryReplyOfEachSlot(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "e.sock")
	go func() { _ = serveEcho(socket) }()
	err := until(t.Context(), func() error {
		// Duration 0: each of the 64 slots is answered once.
		got, err := rawLoad(socket, 64, connections, 0, echoRequest)
		if err == nil && got.calls != 64 {
			t.Errorf("%d calls", got.calls)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMonitoredReadsEscapedWords(t *testing.T) {
	t.Parallel()
	words := monitored(`1339518083.107412 [0 127.0.0.1:60866] "evalsha" "ab" "1" "k:{a\x00\"b}" "1"` + "\r\n")
	want := []string{"evalsha", "ab", "1", "k:{a\x00\"b}", "1"}
	if len(words) != len(want) {
		t.Fatalf("got %q", words)
	}
	for i := range want {
		if words[i] != want[i] {
			t.Errorf("word %d: got %q, want %q", i, words[i], want[i])
		}
	}
}

func TestOnlyTheWorkloadsCallIsCaptured(t *testing.T) {
	t.Parallel()
	key := keys[7]
	c, ok := captured([]string{"EVALSHA", "ab", "2", "k:{" + key + "}:a", "k:{" + key + "}:b", "1", "x"})
	want := command{SHA: "ab", Keys: []string{"k:{" + keyMark + "}:a", "k:{" + keyMark + "}:b"}, Args: []any{"1", "x"}}
	if !ok || !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	for _, words := range [][]string{
		{"evalsha", "ab", "1", "k:{rules}:rules", "5"}, {"get", "ab", "1", key}, {"evalsha", "ab", "2", key}, {"evalsha"},
	} {
		if _, ok := captured(words); ok {
			t.Errorf("%q was taken for it", words)
		}
	}
}

func TestClosedLoopEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := closedLoop(3, time.Hour, func(string) error { return broken })
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}

func TestKeySequencesVisitAllKeys(t *testing.T) {
	t.Parallel()
	next, seen := keySequence(3), map[string]bool{}
	for range keyCount {
		seen[next()] = true
	}
	if len(seen) != keyCount {
		t.Fatalf("%d keys of %d", len(seen), keyCount)
	}
}

func TestFiguresTakeRatiosWithinARound(t *testing.T) {
	t.Parallel()
	// The machine was twice as slow in the second round: the ratio is 2 all the same.
	r := rounds{
		"direct 1":          {{p50: 100 * time.Microsecond}, {p50: 200 * time.Microsecond}, {p50: 100 * time.Microsecond}},
		"client acquire 64": {{rate: 20}, {rate: 10}, {rate: 20}},
		"redis_rate 64":     {{rate: 10}, {rate: 5}, {rate: 10}},
	}
	for _, p := range points(nil, command{}, nil, nil) {
		if _, ok := r[p.name]; !ok {
			r[p.name] = make([]sample, 3)
		}
	}
	f := r.figures()[0]
	if f.values[0] != 2 || f.verdict() != "yes" {
		t.Fatalf("got %v, reached %s", f.values, f.verdict())
	}
}

func TestTheLoopChildReportsItsOwnCPU(t *testing.T) {
	t.Parallel()
	before, err := ownCPU()
	if err != nil {
		t.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for deadline.Err() == nil { // burns CPU
	}
	after, err := ownCPU()
	if err != nil || after <= before {
		t.Fatalf("from %v to %v, %v", before, after, err)
	}
}
