// Package fleet keeps a registry of the sidecars that use a Redis under the same prefix and tenant: each enters itself, and
// sends a heartbeat every ten seconds.
//
// Its invariant: no decision depends on the registry. A lost entry is written again by the next heartbeat of its
// sidecar, and no call waits for a heartbeat. The registry has at most MaxSidecars entries, and expires heartbeatFor
// after the last heartbeat.
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
	// heartbeatTime is the timeout of one heartbeat.
	heartbeatTime = 5 * time.Second
	// MaxSidecars is the largest number of sidecars in the registry.
	MaxSidecars = 10_000
	// maxTextBytes is the length to which each text of About is cut.
	maxTextBytes = 256
)

// About describes a sidecar. The registry stores it as JSON, which sidecars of other versions read too: the names in
// the JSON are not those of the wire, and a removed name is never reused.
type About struct {
	Pod           string `json:"pod"`
	Address       string `json:"address"`
	Version       string `json:"version"`
	StartedAtMS   int64  `json:"started_at_ms"`
	Rules         int64  `json:"rules"`
	RulesRevision int64  `json:"rules_revision"`
}

// Options are the parts that the registry uses.
type Options struct {
	Runner *lua.Runner
	Keys   coord.Keys
	// Sidecar is the id of this sidecar, as in coord.Signals.
	Sidecar string
	// About is called before each heartbeat, and returns what the heartbeat stores.
	About func() About
	Clock coord.Clock // nil = the pod's
}

// Fleet keeps this sidecar's entry in the registry, and reads the registry.
type Fleet struct {
	o    Options
	keys Keys

	ctx        context.Context // ends with Stop
	cancel     context.CancelFunc
	heartbeats sync.WaitGroup
	due        chan struct{} // receives a value when the next heartbeat is due
}

// New makes a Fleet, which enters the sidecar into the registry when Start is called.
func New(o Options) *Fleet {
	if o.Clock == nil {
		o.Clock = coord.SystemClock{}
	}
	f := &Fleet{o: o, keys: keysOf(o.Keys), due: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Start sends heartbeats in the background until Stop. The first one enters the sidecar into the registry.
func (f *Fleet) Start() { f.heartbeats.Go(f.heartbeat) }

// keysOf returns the keys of the registry. Their hash tag has a colon, which coord.Escaped escapes in names, so no
// name has the same tag.
func keysOf(k coord.Keys) Keys {
	return Keys{Ends: k.Key("fleet:", "fleet:", "ends"), Texts: k.Key("fleet:", "fleet:", "texts")}
}

// Methods returns the methods of the noun.
func (f *Fleet) Methods() []coord.Method {
	return []coord.Method{coord.On(api.InspectSidecars, f.Sidecars)}
}

// Stop ends the heartbeats and removes the sidecar from the registry. It fails if Redis does not reply before ctx
// ends.
func (f *Fleet) Stop(ctx context.Context) error {
	f.cancel()
	f.heartbeats.Wait()
	_, err := lua.Attempt(ctx, f.o.Runner, LeaveScript, LeaveIn{Keys: f.keys, Sidecar: f.o.Sidecar}, lua.StoredReply{})
	if err != nil {
		return coord.Failed("fleet: leave", err)
	}
	return nil
}

// heartbeat sends a heartbeat at once and after every heartbeatEvery, until Stop. It ignores errors: the next
// heartbeat comes soon, and the probes of Redis report an outage.
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

// Heartbeat sends one heartbeat, with what About returns now.
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

// Sidecars returns one page of the registry, in no order.
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

// row makes the row of an entry. If this version cannot read the entry's text, the fields that come from the text
// stay empty.
func (f *Fleet) row(e Entry) api.InspectSidecar {
	var a About
	_ = json.Unmarshal([]byte(e.Text), &a)
	return api.InspectSidecar{
		Sidecar: e.Sidecar, Self: e.Sidecar == f.o.Sidecar, Pod: a.Pod, Address: a.Address, Version: a.Version, StartedAtMS: a.StartedAtMS,
		Rules: a.Rules, RulesRevision: a.RulesRevision, SeenMS: max(0, heartbeatFor.Milliseconds()-coord.WaitMS(e.LeftUS)),
	}
}
