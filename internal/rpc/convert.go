package rpc

import (
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func holder(h *coord.Holder) *api.Holder {
	if h == nil {
		return nil
	}
	return &api.Holder{Client: h.Client, Instance: h.Instance, SinceAtMS: h.Since.UnixMilli(), Meta: h.Meta}
}

// unixMillis is an instant on the wire, 0 for none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
