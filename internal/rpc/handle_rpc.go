package rpc

import (
	"context"
	"reflect"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

func rpcMethods(_ context.Context, k *call, _ *api.Nothing) (api.MethodsResult, error) {
	return api.MethodsResult{Methods: k.conn.server.methods.described()}, nil
}

func rpcDescribe(_ context.Context, k *call, p *api.DescribeParams) (api.MethodDescription, error) {
	t := k.conn.server.methods
	if e := t.find([]byte(p.Method)); e != nil {
		return describe(e.Spec), nil
	}
	err := t.notFound([]byte(p.Method))
	err.Code = api.NotFound
	return api.MethodDescription{}, err
}

func describe(s *api.Spec) api.MethodDescription {
	return api.MethodDescription{
		Name: s.Name, Summary: s.Summary, Idempotent: s.Idempotent,
		Notify: s.Notify || s.NotifyOnly, Admin: s.Admin, Since: s.Since,
		Params: describeFields(s.Params, true), Result: describeFields(s.Result, false),
	}
}

// describeFields describes the keys of a params or result map.
func describeFields(t reflect.Type, params bool) []api.FieldDescription {
	fields := api.Fields(t)
	ds := make([]api.FieldDescription, len(fields))
	for i, f := range fields {
		ds[i] = api.FieldDescription{
			Name: f.Name, Type: string(f.Kind), Default: f.Default, Enum: f.Enum, Doc: f.Doc,
			Required: f.Required || !params && !f.Optional,
		}
		if f.Kind == api.KindInt {
			ds[i].Min, ds[i].Max = bound(f.Min, -api.MaxInt), bound(f.Max, api.MaxInt)
		}
		// A type that contains itself is described once; to go on would never end.
		if f.Elem != nil && f.Elem != t {
			ds[i].Fields = describeFields(f.Elem, params)
		}
	}
	return ds
}

// bound returns n, or nil if it is only the limit of all integers on the wire.
func bound(n, end int64) *int64 {
	if n == end {
		return nil
	}
	return &n
}
