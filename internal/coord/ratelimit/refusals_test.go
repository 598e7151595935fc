package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTheKeysThatAreRefusedMostComeFirst(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRefused(noon)
	for key, n := range map[string]int{"a": 3, "b": 5, "c": 3} {
		for range n {
			r.Count(noon, "crawl", key, "limit")
		}
	}
	r.Count(noon, "api", "b", "pause")
	r.Count(noon, "crawl", "b", "pause")
	require.Equal(t, api.InspectRefusals{SinceAtMS: noon.UnixMilli(), Keys: []api.InspectRefused{
		{Rule: "crawl", Key: "b", Refused: 6, Reason: "pause"},
		{Rule: "crawl", Key: "a", Refused: 3, Reason: "limit"},
		{Rule: "crawl", Key: "c", Refused: 3, Reason: "limit"},
		{Rule: "api", Key: "b", Refused: 1, Reason: "pause"},
	}}, r.Most(noon.Add(time.Minute)))
}

// What was refused long ago does not hide what is refused now.
func TestRefusalsAreOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRefused(noon)
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	r.Count(at(4), "r", "old", "limit")
	r.Count(at(6), "r", "old", "limit")
	r.Count(at(6), "r", "new", "limit")
	require.Equal(t, api.InspectRefusals{SinceAtMS: noon.UnixMilli(), Keys: []api.InspectRefused{
		{Rule: "r", Key: "old", Refused: 2, Reason: "limit"}, {Rule: "r", Key: "new", Refused: 1, Reason: "limit"},
	}}, r.Most(at(9)))
	require.Equal(t, api.InspectRefusals{SinceAtMS: at(5).UnixMilli(), Keys: []api.InspectRefused{
		{Rule: "r", Key: "new", Refused: 1, Reason: "limit"}, {Rule: "r", Key: "old", Refused: 1, Reason: "limit"},
	}}, r.Most(at(10)))
	require.Equal(t, api.InspectRefusals{SinceAtMS: at(30).UnixMilli()}, r.Most(at(30)))
}

// If there are far more keys than are counted, the frequent ones are listed, and each count is within the error that is
// returned with it.
func TestRefusalsOfManyKeysStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	r := ratelimit.NewRefused(noon)
	rng := rand.New(rand.NewPCG(1, 2))
	truth := make(map[string]int64)
	count := func(at time.Time, key string) {
		truth[key]++
		r.Count(at, "r", key, "limit")
	}
	for minute := range 10 {
		at := noon.Add(time.Duration(minute) * time.Minute)
		for range 2000 {
			count(at, fmt.Sprint("rare-", rng.IntN(50_000)))
			if heavy := rng.IntN(40); heavy < 20 && (minute < 5 || heavy < 10) { // some only in the first window
				count(at, fmt.Sprint("heavy-", heavy))
			}
		}
	}
	listed := make(map[string]api.InspectRefused)
	most := r.Most(noon.Add(9 * time.Minute)).Keys
	require.Len(t, most, 100)
	for _, k := range most {
		listed[k.Key] = k
		require.InDelta(t, truth[k.Key], k.Refused, float64(k.OffBy), "%+v", k)
	}
	for i := range 20 {
		key := fmt.Sprint("heavy-", i)
		require.Contains(t, listed, key)
		require.Less(t, listed[key].OffBy, truth[key], "a bound that says nothing: %+v", listed[key])
	}
}
