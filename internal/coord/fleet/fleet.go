// Package fleet keeps a registry of the sidecars that use a Redis under the same prefix and tenant: each enters itself, and
// sends a heartbeat every ten seconds.
//
// Its invariant: nothing is decided by the registry. Whatever is lost of it comes back with the next heartbeats, and no call waits
// for a heartbeat. It has MaxSidecars entries at most, and ends with the last heartbeat.
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
	// heartbeatFor is how long a sidecar is listed after its last heartbeat. With heartbeatEvery, two heartbeats in a row may be lost.
	heartbeatFor   = 30 * time.Second
	heartbeatEvery = 10 * time.Second
	// heartbeatTime bounds a heartbeat: nobody waits for it.
	heartbeatTime = 5 * time.Second
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
	// About is asked before each heartbeat.
	About func() About
	Clock coord.Clock // nil = the pod's
}

// Fleet is this sidecar's part in the registry.
type Fleet struct {
	o    Options
	keys Keys

	ctx        context.Context // ends with Stop
	cancel     context.CancelFunc
	heartbeats sync.WaitGroup
	due        chan struct{} // has one when the next heartbeat is due
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
func (f *Fleet) Start() { f.heartbeats.Go(f.heartbeat) }

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
	f.heartbeats.Wait()
	_, err := lua.Attempt(ctx, f.o.Runner, LeaveScript, LeaveIn{Keys: f.keys, Sidecar: f.o.Sidecar}, lua.StoredReply{})
	if err != nil {
		return coord.Failed("fleet: leave", err)
	}
	return nil
}

// heartbeat says again and again that the sidecar lives. A heartbeat that fails does not matter: the next one comes soon, and the probes
// tell that Redis is away.
func (f *Fleet) heartbeat() {
	for {
		ctx, cancel := context.WithTimeout(f.ctx, heartbeatTime)
		_ = f.Heartbeat(ctx)
		cancel()
		stop := f.o.Clock.AfterFunc(heartbeatEvery, func() {
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

// Heartbeat says once that the sidecar lives, and what it is now.
func (f *Fleet) Heartbeat(ctx context.Context) error {
	about := f.o.About()
	for _, text := range []*string{&about.Pod, &about.Address, &about.Version} {
		*text = (*text)[:min(len(*text), maxTextBytes)]
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	_, err = lua.Attempt(ctx, f.o.Runner, HeartbeatScript, HeartbeatIn{
		Keys: f.keys, Sidecar: f.o.Sidecar, Text: string(text), TTLMS: heartbeatFor.Milliseconds(), Most: MaxSidecars,
	}, lua.StoredReply{})
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
			out, err := lua.Run(ctx, f.o.Runner, ListScript, ListIn{Keys: f.keys, Cursor: at, Count: count}, lua.StoredReply{})
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
		Rules: a.Rules, RulesRevision: a.RulesRevision, SeenMS: max(0, heartbeatFor.Milliseconds()-coord.WaitMS(e.LeftUS)),
	}
}
