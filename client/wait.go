package client

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// waitFields caches the index of the wait_ms field of a params type; -1 = none.
var waitFields sync.Map

// waitOf is the wait_ms of a call, which is added to the time of the call itself.
func waitOf(params any) time.Duration {
	if m, ok := params.(map[string]any); ok {
		if ms, ok := m[api.ParamWaitMS]; ok && reflect.ValueOf(ms).CanInt() {
			return time.Duration(reflect.ValueOf(ms).Int()) * time.Millisecond
		}
		return 0
	}
	v := reflect.Indirect(reflect.ValueOf(params))
	if v.Kind() != reflect.Struct {
		return 0
	}
	at, ok := waitFields.Load(v.Type())
	if !ok {
		at, _ = waitFields.LoadOrStore(v.Type(), waitField(v.Type()))
	}
	if at := at.(int); at >= 0 {
		return time.Duration(v.Field(at).Int()) * time.Millisecond
	}
	return 0
}

func waitField(t reflect.Type) int {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("codec"), ","); name == api.ParamWaitMS {
			return i
		}
	}
	return -1
}
