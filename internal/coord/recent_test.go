package coord_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// remembered is notified when it is no longer kept.
type remembered struct {
	ends    time.Duration
	about   string
	dropped int
}

func (r *remembered) Ends() time.Duration { return r.ends }
func (r *remembered) About() string       { return r.about }
func (r *remembered) Dropped()            { r.dropped++ }

func TestADroppedEntryIsReported(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(*coord.Recent[string, *remembered]){
		"by its key":     func(r *coord.Recent[string, *remembered]) { r.Drop("a") },
		"by a broadcast": func(r *coord.Recent[string, *remembered]) { r.Forget("p:v1:{tag}:other") },
		"by what it is": func(r *coord.Recent[string, *remembered]) {
			r.DropIf(func(k string, _ *remembered) bool { return k == "a" })
		},
		"by those that make no room": func(r *coord.Recent[string, *remembered]) {
			for i := range 20 * coord.MaxRecent {
				r.Keep(fmt.Sprint(i), &remembered{ends: time.Hour})
			}
		},
	} {
		r := coord.NewRecent[string, *remembered]()
		first := &remembered{about: "p:v1:{tag}:state"}
		require.Same(t, first, r.Keep("a", first))
		require.Same(t, first, r.Keep("a", &remembered{}), "there is one already")
		require.Zero(t, first.dropped)
		drop(r)
		require.Equal(t, 1, first.dropped, name)
		_, ok, _ := r.Get("a")
		require.False(t, ok, name)
	}
}
