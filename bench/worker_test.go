package main

import (
	"strings"
	"testing"
)

func TestAWorkerOfAnUnknownKindFails(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := work(t.Context(), strings.NewReader(`{"Kind":"none"}`+"\n"), &out)
	if err == nil || err.Error() != `there is no worker "none"` || out.String() != "" {
		t.Errorf("got %v, %q", err, out.String())
	}
}

func TestAWorkerWhoseParentIsGoneEndsWithoutWorking(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := work(t.Context(), strings.NewReader(`{"Kind":"redis_rate","Addr":"127.0.0.1:1"}`+"\n"), &out)
	if err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("got %v, %q, want only the empty result of a ready worker", err, out.String())
	}
}
