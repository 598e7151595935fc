// Package fleet keeps a registry of the sidecars that use a Redis under the same prefix and tenant: each enters itself, and
// beats every ten seconds to say that it lives.
//
// Its invariant: nothing is decided by the registry. Whatever is lost of it comes back with the next beats, and no call waits
// for a beat. It has MaxSidecars entries at most, and ends with the last beat.
package fleet

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

const (
	// beatFor is how long a sidecar is listed after its last beat. With beatEvery, two beats in a row may be lost.
	beatFor   = 30 * time.Second
	beatEvery = 10 * time.Second
	// beatTime bounds a beat: nobody waits for it.
	beatTime = 5 * time.Second
	// MaxSidecars is how many sidecars the registry has at most.
	MaxSidecars = 10_000
	// maxTextBytes bounds each of the texts of a sidecar.
	maxTextBytes = 256
)

// About describes a sidecar. The registry keeps it as JSON, which sidecars of other versions read too: its names are not those
// of the wire, and are never reused.
type About struct {
	Pod           string `json:"pod"`
	Address       string `json:"address"`
	Version       string `json:"version"`
	StartedAtMS   int64  `json:"started_at_ms"`
	Rules         int64  `json:"rules"`
	RulesRevision int64  `json:"rules_revision"`
}

// Options are what the registry needs.
type Options struct {
	Runner *lua.Runner
	Keys   coord.Keys
	// Sidecar is the id of this one, as of coord.Signals.
	Sidecar string
	// About is asked before each beat.
	About func() About
	Clock coord.Clock // nil = the pod's
}

// Fleet is this sidecar's part in the registry.
type Fleet struct {
	o    Options
	keys Keys

	ctx    context.Context // ends with Stop
	cancel context.CancelFunc
	beats  sync.WaitGroup
	due    chan struct{} // has one when the next beat is due
}

// New makes the part of a sidecar that Start enters.
func New(o Options) *Fleet {
	if o.Clock == nil {
		o.Clock = coord.SystemClock{}
	}
	f := &Fleet{o: o, keys: keysOf(o.Keys), due: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Start enters the sidecar into the registry, in the background, until Stop.
func (f *Fleet) Start() { f.beats.Go(f.beat) }

// keysOf are the keys of the registry. Its tag is no escaped text, so that it is no name's.
func keysOf(k coord.Keys) Keys {
	return Keys{Ends: k.Key("fleet:", "fleet:", "ends"), Texts: k.Key("fleet:", "fleet:", "texts")}
}

// Methods are those of the noun.
func (f *Fleet) Methods() []coord.Method {
	return []coord.Method{coord.On(api.InspectSidecars, f.Sidecars)}
}

// Stop takes the sidecar out of the registry, if Redis answers before ctx ends.
func (f *Fleet) Stop(ctx context.Context) error {
	f.cancel()
	f.beats.Wait()
	_, err := lua.Attempt(ctx, f.o.Runner, LeaveScript, LeaveIn{Keys: f.keys, Sidecar: f.o.Sidecar}, lua.Latch{})
	if err != nil {
		return coord.Failed("fleet: leave", err)
	}
	return nil
}

// beat says again and again that the sidecar lives. A beat that fails does not matter: the next one comes soon, and the probes
// tell that Redis is away.
func (f *Fleet) beat() {
	for {
		ctx, cancel := context.WithTimeout(f.ctx, beatTime)
		_ = f.Beat(ctx)
		cancel()
		stop := f.o.Clock.AfterFunc(beatEvery, func() {
			select {
			case f.due <- struct{}{}:
			default:
			}
		})
		select {
		case <-f.due:
			stop()
		case <-f.ctx.Done():
			stop()
			return
		}
	}
}

// Beat says once that the sidecar lives, and what it is now.
func (f *Fleet) Beat(ctx context.Context) error {
	about := f.o.About()
	for _, text := range []*string{&about.Pod, &about.Address, &about.Version} {
		*text = (*text)[:min(len(*text), maxTextBytes)]
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	_, err = lua.Attempt(ctx, f.o.Runner, BeatScript, BeatIn{
		Keys: f.keys, Sidecar: f.o.Sidecar, Text: string(text), TTLMS: beatFor.Milliseconds(), Most: MaxSidecars,
	}, lua.Latch{})
	return err
}

// Sidecars lists the registry, in no order.
func (f *Fleet) Sidecars(ctx context.Context, _ coord.Caller, p *api.InspectSidecarsParams) (r api.InspectSidecarsResult, err error) {
	r.Sidecars, r.Cursor, err = coord.Paged(ctx, api.InspectSidecars.Name, p.Cursor, p.Count,
		func(ctx context.Context, cursor string, count int64) (rows []api.InspectSidecar, next string, _ error) {
			at, err := coord.HashCursor(cursor)
			if err != nil {
				return nil, "", err
			}
			out, err := lua.Run(ctx, f.o.Runner, ListScript, ListIn{Keys: f.keys, Cursor: at, Count: count}, lua.Latch{})
			for _, e := range out.Value.Entries {
				rows = append(rows, f.row(e))
			}
			r.Total = out.Value.Total
			return rows, coord.NextOfHash(out.Value.Cursor), err
		})
	return r, err
}

// row reads the entry of a sidecar. Of a text that this version cannot read, only the id is left.
func (f *Fleet) row(e Entry) api.InspectSidecar {
	var a About
	_ = json.Unmarshal([]byte(e.Text), &a)
	return api.InspectSidecar{
		Sidecar: e.Sidecar, Self: e.Sidecar == f.o.Sidecar, Pod: a.Pod, Address: a.Address, Version: a.Version, StartedAtMS: a.StartedAtMS,
		Rules: a.Rules, RulesRevision: a.RulesRevision, SeenMS: max(0, beatFor.Milliseconds()-coord.WaitMS(e.LeftUS)),
	}
}
