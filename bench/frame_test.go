package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestResponseReadsWholeFramesOnly(t *testing.T) {
	t.Parallel()
	// [1, 7, nil, {"allowed": true, "n": 300, "t": 2^32, "s": str8, "l": [-1, 1.5], "b": bin}]
	result := "c0" + "86" +
		"a7616c6c6f776564" + "c3" +
		"a16e" + "cd012c" +
		"a174" + "cf0000000100000000" +
		"a173" + "d903616263" +
		"a16c" + "92" + "ff" + "cb3ff8000000000000" +
		"a162" + "c4020001"
	for _, id := range []string{"cc07", "07"} { // both encode 7
		frame, err := hex.DecodeString("9401" + id + result)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range frame {
			if _, _, err := response(frame[:cut]); !errors.Is(err, errShort) {
				t.Fatalf("the first %d bytes: %v", cut, err)
			}
		}
		got, length, err := response(append(frame, 0x94))
		if err != nil || got != 7 || length != len(frame) {
			t.Fatalf("got id %d, length %d of %d, %v", got, length, len(frame), err)
		}
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

func TestTextsOfAnswersAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	answer := appendText([]byte{0x82}, "id")
	answer = appendText(answer, "lease")
	answer = appendText(answer, "lease")
	answer = appendText(answer, long)
	if got := textOf(answer, "id"); got != "lease" {
		t.Errorf("id: got %q", got)
	}
	answer = appendText(appendText([]byte{0x81}, "lease"), long)
	if got := textOf(answer, "lease"); got != long {
		t.Errorf("lease: got %q", got)
	}
	if got := textOf(answer, "none"); got != "" {
		t.Errorf("none: got %q", got)
	}
}

func TestRawLoadCountsEveryReplyOfEachSlot(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "e.sock")
	go func() { _ = serveEcho(socket) }()
	err := until(t.Context(), func() error {
		// Duration 0: each of the 64 slots is answered once.
		got, err := rawLoad(socket, 64, connections, 0, shared(keyCount), echoed)
		if err == nil && got.calls != 64 {
			t.Errorf("%d calls", got.calls)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnExchangePassesAnAnswerToItsNextStepAndCountsOnce(t *testing.T) {
	t.Parallel()
	var inputs [][]byte
	r := rawConnection{slots: make([]slot, 1), next: func() string { return "k" }, steps: exchange{
		{func(to []byte, _ byte, key string, last []byte) []byte {
			inputs = append(inputs, []byte(key), last)
			return append(to, 1)
		}, isTrue("acquired")},
		{func(to []byte, _ byte, key string, last []byte) []byte {
			inputs = append(inputs, []byte(key), last)
			return append(to, 2)
		}, nil},
	}}
	end := time.Unix(100, 0)
	r.begin(0, time.Unix(1, 0))
	if ended, err := r.take(0, isTrue("acquired"), time.Unix(2, 0), end); ended || err != nil {
		t.Fatalf("ended %v, %v", ended, err)
	}
	if ended, err := r.take(0, []byte{0}, time.Unix(3, 0), end); ended || err != nil {
		t.Fatalf("before the end: ended %v, %v", ended, err)
	}
	if len(r.latencies) != 1 || r.latencies[0] != 2*time.Second {
		t.Errorf("latencies %v: one exchange of 2 s has ended", r.latencies)
	}
	if !bytes.Equal(r.out, []byte{1, 2, 1}) {
		t.Errorf("sent %v", r.out)
	}
	want := [][]byte{[]byte("k"), nil, []byte("k"), isTrue("acquired"), []byte("k"), nil}
	for i := range want {
		if !bytes.Equal(inputs[i], want[i]) {
			t.Errorf("frame %d was made from %q, not %q", i, inputs[i], want[i])
		}
	}
	if _, err := r.take(0, []byte("refused"), time.Unix(4, 0), end); err == nil {
		t.Error("a refusal counts as an answer")
	}
}
