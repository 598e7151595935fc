package coord_test

import (
	"testing"

	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

func TestLimitsConform(t *testing.T)       { conforms(t, conformance.Limits) }
func TestAlgorithmsConform(t *testing.T)   { conforms(t, conformance.Algorithms) }
func TestManyConform(t *testing.T)         { conforms(t, conformance.Many) }
func TestUpstreamConforms(t *testing.T)    { conforms(t, conformance.Upstream) }
func TestLocksConform(t *testing.T)        { conforms(t, conformance.Locks) }
func TestWaitingConforms(t *testing.T)     { conforms(t, conformance.Waiting) }
func TestSemaphoresConform(t *testing.T)   { conforms(t, conformance.Semaphores) }
func TestBreakersConform(t *testing.T)     { conforms(t, conformance.Breakers) }
func TestQueuesConform(t *testing.T)       { conforms(t, conformance.Queues) }
func TestSeenConforms(t *testing.T)        { conforms(t, conformance.Seen) }
func TestPoolsConform(t *testing.T)        { conformsByRules(t, conformance.Pools) }
func TestPermitsConform(t *testing.T)      { conformsByRules(t, conformance.Permits) }
func TestListsConform(t *testing.T)        { conformsByRules(t, conformance.Lists) }
func TestExplanationsConform(t *testing.T) { conformsByRules(t, conformance.Explanations) }

func TestRulesConform(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Rules(t, func(t *testing.T, deaf bool) conformance.RulesSystem {
			return coordtest.NewRulesSystem(t, url, deaf)
		})
	})
}

// The guarantees hold for each call on the direct path too, where every script runs alone and every answer is made on
// the goroutine that reads the replies of Redis.
func TestTheDirectPathConforms(t *testing.T) {
	t.Parallel()
	for name, suite := range map[string]func(*testing.T, conformance.System){
		"limits": conformance.Limits, "upstream": conformance.Upstream, "locks": conformance.Locks, "semaphores": conformance.Semaphores,
		"breakers": conformance.Breakers, "queues": conformance.Queues, "seen": conformance.Seen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Stores(t, func(t *testing.T, url string) {
				t.Parallel()
				suite(t, coordtest.NewDirectSystem(t, url))
			})
		})
	}
	for name, suite := range map[string]func(*testing.T, conformance.RulesSystem){
		"pools": conformance.Pools, "permits": conformance.Permits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Stores(t, func(t *testing.T, url string) {
				t.Parallel()
				suite(t, coordtest.NewDirectSystem(t, url))
			})
		})
	}
}

// conforms runs a suite on every kind of store.
func conforms(t *testing.T, suite func(*testing.T, conformance.System)) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		suite(t, coordtest.NewSystem(t, url))
	})
}

// conformsByRules runs a suite that puts rules.
func conformsByRules(t *testing.T, suite func(*testing.T, conformance.RulesSystem)) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		suite(t, coordtest.NewRulesSystem(t, url, false))
	})
}
