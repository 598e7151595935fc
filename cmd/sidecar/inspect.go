package main

import (
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// configText is the configuration in force, as config print shows it.
func (a *app) configText() (string, error) {
	c := a.config
	if r := a.reloads.Load(); r != nil {
		c = r.state.Load().config
	}
	var b strings.Builder
	err := c.Print(&b)
	return b.String(), err
}

// redisState is what the runner's probe found, for inspect.snapshot.
func (a *app) redisState() api.InspectRedis {
	s := a.runner.Status()
	r := api.InspectRedis{
		Topology: s.Topology, Address: s.Address, Up: s.Up,
		RTTUS: s.RTT.Microseconds(), MemoryBytes: s.UsedMemory,
		Pool: api.InspectPool{Open: int64(s.PoolTotal), Idle: int64(s.PoolIdle), Max: int64(s.PoolMax)},
	}
	if s.Trouble != nil {
		r.Error, r.Trouble = s.Trouble.Error(), s.Trouble.Name
	}
	return r
}
