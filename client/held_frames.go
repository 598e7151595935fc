package client

import (
	"cmp"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// releaseFrame returns the notification that gives a grant back.
func (h *held) releaseFrame(token string) []byte {
	pairs := 2
	if h.kind.unused != "" {
		pairs++
	}
	if h.kind.key != "" {
		pairs++
	}
	b := appendText([]byte{0x93, frameNotification}, h.kind.release)
	b = appendMap(append(b, 0x91), pairs)
	b = appendText(appendText(b, h.kind.name), h.name)
	b = appendText(appendText(b, h.kind.token), token)
	if h.kind.unused != "" {
		b = appendText(appendText(b, "outcome"), h.kind.unused)
	}
	if h.kind.key != "" {
		b = appendText(appendText(b, h.kind.key), h.key)
	}
	return b
}

// lateFrame returns the notification that gives back the grant in a reply whose caller has gone; nil = the reply has none.
func (h *held) lateFrame(d *codec.Decoder, reply []byte) []byte {
	token := h.token
	if h.kind.named {
		if token = namedBy(d, reply); token == "" {
			return nil
		}
	}
	return h.releaseFrame(token)
}

// naming is the part of a result that contains the token, for all nouns.
type naming struct {
	Lease string `codec:"lease"`
	Token string `codec:"token"`
}

// namedBy returns the token in a reply; empty if the reply grants nothing.
func namedBy(d *codec.Decoder, reply []byte) string {
	var r naming
	if decodeReply(d, reply, &r, "") != nil {
		return ""
	}
	return cmp.Or(r.Lease, r.Token)
}

// named sets the token of a lease whose token the sidecar makes. The reader calls it with cn.mu
// held, because a notification of the lease's loss may follow directly after its grant.
func (cn *conn) named(h *held, reply []byte) {
	if h == nil || !h.kind.named {
		return
	}
	if h.token = namedBy(cn.dec, reply); h.token != "" && h.session {
		cn.held[h.token] = h
	}
}
