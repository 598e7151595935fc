package rpc

import (
	"context"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

// serverName is the field server of the result of session.hello.
const serverName = "coxswain"

func sessionHello(_ context.Context, k *call, p *api.HelloParams) (api.HelloResult, error) {
	c := k.conn
	c.session.Identify(coord.Identity{Client: p.Client, Instance: p.Instance})
	c.errorsAsMap.Store(p.Errors == api.ErrorsMap)
	c.log.Debug("client introduced itself", "client", p.Client, "version", p.Version, "instance", p.Instance)
	return api.HelloResult{
		Server: serverName, Version: c.server.opts.Version, Protocol: api.ProtocolVersion,
		Session: c.session.ID, Limits: c.server.opts.Limits, Methods: c.server.methods.names,
		NowAtMS: time.Now().UnixMilli(),
	}, nil
}

func sessionPing(_ context.Context, _ *call, _ *api.Nothing) (api.PingResult, error) {
	return api.PingResult{NowAtMS: time.Now().UnixMilli()}, nil
}
