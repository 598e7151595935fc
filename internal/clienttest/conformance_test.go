package clienttest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/conformance"
	"github.com/coxswain-sidecar/coxswain/internal/coordtest"
	"github.com/coxswain-sidecar/coxswain/internal/redistest"
)

// The suites that run directly on package coord also run through a real socket here.

func TestLimitsConformThroughTheSocket(t *testing.T)     { conforms(t, conformance.Limits) }
func TestAlgorithmsConformThroughTheSocket(t *testing.T) { conforms(t, conformance.Algorithms) }
func TestManyConformThroughTheSocket(t *testing.T)       { conforms(t, conformance.Many) }
func TestUpstreamConformsThroughTheSocket(t *testing.T)  { conforms(t, conformance.Upstream) }
func TestLocksConformThroughTheSocket(t *testing.T)      { conforms(t, conformance.Locks) }
func TestWaitingConformsThroughTheSocket(t *testing.T)   { conforms(t, conformance.Waiting) }
func TestSemaphoresConformThroughTheSocket(t *testing.T) { conforms(t, conformance.Semaphores) }
func TestBreakersConformThroughTheSocket(t *testing.T)   { conforms(t, conformance.Breakers) }
func TestQueuesConformThroughTheSocket(t *testing.T)     { conforms(t, conformance.Queues) }
func TestSeenConformsThroughTheSocket(t *testing.T)      { conforms(t, conformance.Seen) }
func TestPoolsConformThroughTheSocket(t *testing.T)      { conformsByRules(t, conformance.Pools) }
func TestPermitsConformThroughTheSocket(t *testing.T)    { conformsByRules(t, conformance.Permits) }
func TestListsConformThroughTheSocket(t *testing.T)      { conformsByRules(t, conformance.Lists) }
func TestExplanationsConformThroughTheSocket(t *testing.T) {
	conformsByRules(t, conformance.Explanations)
}

func TestRulesConformThroughTheSocket(t *testing.T) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		conformance.Rules(t, func(t *testing.T, deaf bool) conformance.RulesSystem { return newSystem(t, url, deaf) })
	})
}

// conforms runs a suite on every kind of store.
func conforms(t *testing.T, suite func(*testing.T, conformance.System)) {
	conformsByRules(t, func(t *testing.T, s conformance.RulesSystem) { suite(t, s) })
}

// conformsByRules runs a suite that sets rules.
func conformsByRules(t *testing.T, suite func(*testing.T, conformance.RulesSystem)) {
	t.Parallel()
	redistest.Stores(t, func(t *testing.T, url string) {
		t.Parallel()
		suite(t, newSystem(t, url, false))
	})
}

// system is two sidecars on one store, each behind its socket.
type system struct {
	*coordtest.System
	sockets [2]string
}

func newSystem(t testing.TB, url string, deaf bool) *system {
	t.Helper()
	s := &system{System: coordtest.NewRulesSystem(t, url, deaf)}
	for i, x := range s.Sidecars {
		s.sockets[i] = listen(t, x)
	}
	return s
}

func (s *system) Connect(t testing.TB, sidecar int, name string) conformance.Client {
	t.Helper()
	w := &wireClient{test: t.Name(), lost: make(chan api.LostParams, 100)}
	c, err := client.Dial(t.Context(), client.Options{
		Socket: s.sockets[sidecar], Client: name, Instance: "conformance",
		OnEvent: func(e client.Event) {
			if strings.HasSuffix(e.Method, ".lost") {
				str := func(k string) string { v, _ := e.Params[k].(string); return v }
				w.lost <- api.LostParams{Name: str("name"), Token: str("token"), Fence: str("fence"), Reason: str("reason")}
			}
		},
	})
	require.NoError(t, err)
	w.client = c
	t.Cleanup(w.Close)
	return w
}

// wireClient implements the client of the suites by the Go client.
type wireClient struct {
	client *client.Client
	test   string
	lost   chan api.LostParams
	once   sync.Once
}

// Do makes the request id unique to the test: the tests of a suite share sidecars, for which a
// request id identifies one call, whatever object the call names.
func (w *wireClient) Do(ctx context.Context, id, method string, params, result any) error {
	if id != "" {
		sum := sha256.Sum256([]byte(w.test + " " + id))
		id = hex.EncodeToString(sum[:16])
	}
	return w.client.CallRaw(client.WithRequestID(ctx, id), method, params, result)
}

func (w *wireClient) Lost() <-chan api.LostParams { return w.lost }

func (w *wireClient) Close() { w.once.Do(func() { _ = w.client.Close() }) }
