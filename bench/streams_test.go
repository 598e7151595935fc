package main

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"
)

func TestConsumersAgreeWithRedis(t *testing.T) {
	t.Parallel()
	for counted, acked := range map[int]int{3: 2, 2: 3, 0: 0} {
		if agree(counted, acked) == nil {
			t.Errorf("%d and %d agree", counted, acked)
		}
	}
	if err := agree(3, 3); err != nil {
		t.Error(err)
	}
}

// messages are notifications with these ids, as the sidecar sends them.
func messages(ids ...string) (b []byte) {
	for _, id := range ids {
		b = append(b, message...)
		b = appendText(append(b, 0x91, 0x82), "id")
		b = append(appendText(appendText(b, id), "body"), 0xc4, 2, 0x93, 0x02) // a body like a frame
	}
	return b
}

func TestARawConsumerAcknowledgesEachMessageOnceItIsWhole(t *testing.T) {
	t.Parallel()
	count := 0
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	r := rawConsumer{conn: ours, run: consumption{stream: "s", d: time.Hour}, acked: func() { count++ }}
	b := messages("1-0", "2-0")
	for end := range b {
		r.out, r.open = nil, 0
		at, err := r.frames(b[:end], true)
		if want := end / (len(b) / 2); err != nil || r.open != want || at != want*len(b)/2 {
			t.Fatalf("of the first %d bytes: %d taken, %d requests, %v", end, at, r.open, err)
		}
	}
	if at, err := r.frames(b, true); err != nil || at != len(b) || !bytes.Contains(r.out, []byte("2-0")) {
		t.Fatalf("%d taken, %q, %v", at, r.out, err)
	}
	open := r.open
	if _, err := r.frames(messages("3-0"), false); err != nil || r.open != open {
		t.Fatalf("after the end: %d requests, not %d, %v", r.open, open, err)
	}
	answer := append([]byte{0x94, 0x01, 0xcd, 0, 1, 0xc0, 0x81}, acked...)
	if _, err := r.frames(answer, true); err != nil || r.open != open-1 || r.done != 1 || count != 1 || r.last.Before(time.Now().Add(-time.Hour)) {
		t.Fatalf("after an answer: %d requests, %d done, %d acked, %v", r.open, r.done, count, err)
	}
	refused := append(appendText([]byte{0x94, 0x01, 0x01}, "OVERLOADED"), 0xc0)
	if _, err := r.frames(refused, true); err == nil || !strings.Contains(err.Error(), "OVERLOADED") {
		t.Errorf("an error reply: %v", err)
	}
}
