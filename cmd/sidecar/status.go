package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/port"
	"github.com/coxswain-sidecar/coxswain/internal/status"
)

// listenStatus opens the port of the status page, if the page is on.
func (a *app) listenStatus() (err error) {
	if a.config.HTTP.StatusAddr == "" {
		return nil
	}
	if a.statusPort, err = status.Port.Listen(a.config.HTTP.StatusAddr); err != nil {
		return err
	}
	a.onStop("status port", 0, func(context.Context) error { _ = a.statusPort.Close(); return nil }) // it may be closed by then
	return nil
}

func (a *app) serveStatus() error {
	if a.statusPort == nil {
		return nil
	}
	page := status.New(a.ask)
	a.onStop("samples of the status page", 0, func(context.Context) error { page.Stop(); return nil })
	server := port.Serve("status page", a.statusPort, page.Handler(), a.log)
	a.onStop("status page", overtime, server.Stop)
	a.log.Info("serving the status page", "url", "http://"+server.Addr()+"/")
	return nil
}

// ask carries out a method that only reads, for the status page. It does not go through the socket, so that the socket's
// permissions and bounds do not apply to the page, and metrics do not count it as a call.
func (a *app) ask(ctx context.Context, method string, params, result any) error {
	var answer any
	switch method {
	case api.InspectSnapshot.Name:
		snapshot, err := a.server.Snapshot(ctx)
		if err != nil {
			return a.wireError(method, err)
		}
		answer = snapshot
	case api.HealthGet.Name:
		answer = a.snapshot(ctx)
	default:
		i := slices.IndexFunc(a.methods, func(m coord.Method) bool { return m.Name == method })
		if i < 0 {
			return fmt.Errorf("status page: no noun has the method %s", method)
		}
		call := a.methods[i].New()
		reflect.ValueOf(call.Params()).Elem().Set(reflect.ValueOf(params))
		if err := call.Run(ctx, coord.Caller{}); err != nil {
			return a.wireError(method, err)
		}
		answer = reflect.ValueOf(call.Result()).Elem().Interface()
	}
	reflect.ValueOf(result).Elem().Set(reflect.ValueOf(answer))
	return nil
}

// wireError returns the error that a client would get, and logs the cause if that error omits it.
func (a *app) wireError(method string, err error) error {
	e := coord.Wire(err)
	if e.Code == api.Internal {
		a.log.Error("status page: "+method, "err", err)
	}
	return e
}
