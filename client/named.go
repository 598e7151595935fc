package client

import "github.com/hashicorp/go-msgpack/v2/codec"

// Members of pools are leased under names that the sidecar makes: they are known
// when the grant comes, and not before.

// named notes what such a lease is called, on the reader and with cn.mu held,
// since its loss may be told right behind its grant.
func (cn *conn) named(h *held, reply []byte) {
	if h == nil || !h.kind.named {
		return
	}
	if h.token = namedBy(cn.dec, reply); h.token != "" && h.session {
		cn.held[h.token] = h
	}
}

// lateFrame gives back what a reply grants whose caller has gone; nil = nothing.
func (h *held) lateFrame(d *codec.Decoder, reply []byte) []byte {
	token := h.token
	if h.kind.named {
		if token = namedBy(d, reply); token == "" {
			return nil
		}
	}
	return h.releaseFrame(token)
}

// namedBy is the token that a reply tells, empty if it grants nothing.
func namedBy(d *codec.Decoder, reply []byte) string {
	var r struct {
		Lease string `codec:"lease"`
	}
	if decodeReply(d, reply, &r) != nil {
		return ""
	}
	return r.Lease
}
