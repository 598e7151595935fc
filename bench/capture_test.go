package main

import (
	"reflect"
	"testing"
)

func TestMonitoredReadsEscapedWords(t *testing.T) {
	t.Parallel()
	words := monitored(`1339518083.107412 [0 127.0.0.1:60866] "evalsha" "ab" "1" "k:{a\x00\"b}" "1"` + "\r\n")
	want := []string{"evalsha", "ab", "1", "k:{a\x00\"b}", "1"}
	if !reflect.DeepEqual(words, want) {
		t.Fatalf("got %q", words)
	}
}

func TestOnlyTheWorkloadsCallIsCaptured(t *testing.T) {
	t.Parallel()
	key := table(keyCount)[7]
	c, ok := captured([]string{"EVALSHA", "ab", "2", "k:{" + key + "}:a", "k:{" + key + "}:b", "1", "x"})
	want := evalsha{SHA: "ab", Keys: []string{"k:{" + keyMark + "}:a", "k:{" + keyMark + "}:b"}, Args: []any{"1", "x"}}
	if !ok || !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	for _, words := range [][]string{
		{"evalsha", "ab", "1", "k:{rules}:rules", "5"}, {"get", "ab", "1", key}, {"evalsha", "ab", "2", key}, {"evalsha"},
	} {
		if _, ok := captured(words); ok {
			t.Errorf("%q was captured as the workload's call", words)
		}
	}
}
