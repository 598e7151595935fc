package rpc

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// The bounds of a snapshot: one frame that any client can read.
const (
	maxShownLeases   = 1000
	maxShownRules    = 1000 // of the rules in force, and of the rules that decided
	maxShownChannels = 256
	maxShownConfig   = 256 << 10
)

func inspectSnapshot(ctx context.Context, k *call, _ *api.Nothing) (api.InspectResult, error) {
	return k.conn.server.Snapshot(ctx)
}

// Snapshot returns the result of inspect.snapshot.
func (s *Server) Snapshot(ctx context.Context) (api.InspectResult, error) {
	now, services := time.Now(), &s.services
	r := api.InspectResult{
		Version: s.opts.Version, PID: int64(os.Getpid()),
		StartedAtMS: s.started.UnixMilli(), UptimeMS: now.Sub(s.started).Milliseconds(),
	}
	if until, ok := s.Draining(); ok {
		r.Draining, r.EndsAtMS = true, until.UnixMilli()
	}
	if services.Config != nil {
		text, err := services.Config()
		if err != nil {
			return api.InspectResult{}, err
		}
		r.Config = shortened(text)
	}
	if services.Redis != nil {
		r.Redis = services.Redis()
	}
	r.Rules, r.TruncatedRules = firstOf(services.Rules, maxShownRules)
	r.Decisions, r.TruncatedDecisions = firstOf(services.Decisions, maxShownRules)
	r.Channels, r.TruncatedChannels = firstOf(services.Channels, maxShownChannels)
	if services.StreamGroups != nil {
		r.StreamGroups = services.StreamGroups()
	}
	if services.Refusals != nil {
		r.Refusals = services.Refusals()
	}
	if services.Times != nil {
		var err error
		if r.Calls, r.Scripts, err = services.Times(ctx); err != nil {
			return api.InspectResult{}, err
		}
	}
	if services.SlowScripts != nil {
		r.SlowScripts = services.SlowScripts()
	}
	s.inspectSessions(&r)
	r.SlowCalls, r.Errors = s.recent.lists()
	return r, nil
}

// shortened cuts a text that is too long, between two of its lines.
func shortened(text string) string {
	if len(text) <= maxShownConfig {
		return text
	}
	const cut = "# ... the rest is left out\n"
	text = text[:maxShownConfig-len(cut)]
	return text[:strings.LastIndexByte(text, '\n')+1] + cut
}

// firstOf returns the first items of a list, and how many more there are. A nil list has no items.
func firstOf[T any](list func() []T, most int) (first []T, more int64) {
	if list == nil {
		return nil, 0
	}
	all := list()
	shown := min(len(all), most)
	return all[:shown], int64(len(all) - shown)
}

// inspectSessions adds the connections to r. It never holds the locks of two connections at once.
func (s *Server) inspectSessions(r *api.InspectResult) {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	slices.SortFunc(conns, func(a, b *conn) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.session.ID, b.session.ID))
	})
	left := maxShownLeases
	for _, c := range conns {
		id := c.session.Identity()
		running, waiting := c.counts()
		one := api.InspectSession{
			Session: c.session.ID, Client: id.Client, Instance: id.Instance, UID: int64(c.uid),
			SinceAtMS: c.since.UnixMilli(), Inflight: running, Events: c.subscriber.Following(),
		}
		held, more := c.server.services.Leases.HeldBy(c.session, left)
		for _, h := range held {
			one.Held = append(one.Held, api.InspectHeld{Noun: h.Noun, Name: h.Name, TTLMS: h.Left.Milliseconds(), Fence: coord.Fence(h.Fence)})
		}
		left -= len(held)
		r.Truncated += int64(more)
		r.Counts.Held += int64(len(held) + more)
		r.Counts.Inflight += running
		r.Counts.Waiting += waiting
		r.Sessions = append(r.Sessions, one)
	}
	r.Counts.Connections = int64(len(conns))
}

// counts returns how many calls are in flight, and how many of those may wait.
func (c *conn) counts() (running, waiting int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.running {
		running += int64(n)
	}
	return running, int64(c.running[classWaiting])
}
