package main

import (
	"errors"
	"testing"
	"time"
)

func TestClosedLoopEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := closedLoop(3, time.Hour, shared(keyCount), func(string) error { return broken })
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}

func TestKeySequencesVisitAllKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1_000, keyCount} {
		next, seen := shared(n)(3), map[string]bool{}
		for range n {
			seen[next()] = true
		}
		if len(seen) != n {
			t.Errorf("%d keys of %d", len(seen), n)
		}
	}
}

func TestKeysInTurnAreNoTwoCallersAtATime(t *testing.T) {
	t.Parallel()
	keys, seen := inTurn(100), map[string]bool{}
	a, b := keys(0), keys(1)
	for range 50 {
		seen[a()], seen[b()] = true, true
	}
	if len(seen) != 100 {
		t.Fatalf("%d keys of 100", len(seen))
	}
	if got := a(); got != table(1)[0] {
		t.Errorf("after the last comes %s", got)
	}
}

func TestAProcessKnowsItsOwnCPU(t *testing.T) {
	t.Parallel()
	before, err := ownCPU()
	if err != nil {
		t.Fatal(err)
	}
	for {
		after, err := ownCPU()
		if err != nil || after < before {
			t.Fatalf("from %v to %v, %v", before, after, err)
		}
		if after > before { // by what this loop burns
			return
		}
	}
}
