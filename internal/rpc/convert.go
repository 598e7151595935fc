package rpc

import (
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func holder(h *coord.Holder) *api.Holder {
	if h == nil {
		return nil
	}
	return &api.Holder{Client: h.Client, Instance: h.Instance, SinceAtMS: h.Since.UnixMilli(), Meta: h.Meta}
}
