package main

import (
	"context"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// configText returns the configuration in force, as config print prints it.
func (a *app) configText() (string, error) {
	c := a.config
	if r := a.reloads.Load(); r != nil {
		c = r.state.Load().config
	}
	var b strings.Builder
	err := c.Print(&b)
	return b.String(), err
}

// redisState returns the results of the runner's probe, for inspect.snapshot.
func (a *app) redisState() api.InspectRedis {
	s := a.runner.Status()
	r := api.InspectRedis{
		Topology: s.Topology, Address: s.Address, Up: s.Up,
		RTTUS: s.RTT.Microseconds(), MemoryBytes: s.UsedMemory,
		Pool: api.InspectPool{Open: int64(s.PoolTotal), Idle: int64(s.PoolIdle), Max: int64(s.PoolMax)},
	}
	for _, p := range a.runner.History() {
		r.History = append(r.History, api.InspectProbe{AtMS: p.At.UnixMilli(), Up: p.Up, RTTUS: p.RTT.Microseconds()})
	}
	if s.Trouble != nil {
		r.Error, r.Trouble = s.Trouble.Error(), s.Trouble.Name
	}
	return r
}

// times returns how long calls and scripts took, from the metrics.
func (a *app) times(ctx context.Context) (calls, scripts []api.InspectTimes, err error) {
	of := func(all []telemetry.Times) (shown []api.InspectTimes) {
		for _, t := range all {
			shown = append(shown, api.InspectTimes{
				Name: t.Name, Count: t.Count, Errors: t.Errors,
				SumUS: t.Sum.Microseconds(), P50US: t.P50.Microseconds(), P99US: t.P99.Microseconds(),
			})
		}
		return shown
	}
	c, s, err := a.telemetry.Times(ctx)
	return of(c), of(s), err
}

// slowScripts lists the last script runs that were slow.
func (a *app) slowScripts() (all []api.InspectSlowScript) {
	for _, s := range a.telemetry.SlowScripts() {
		all = append(all, api.InspectSlowScript{
			Script: s.Script, DurationMS: s.Took.Milliseconds(), AtMS: s.At.UnixMilli(), Outcome: s.Outcome,
		})
	}
	return all
}
