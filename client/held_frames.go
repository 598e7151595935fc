package client

import (
	"cmp"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// releaseFrame is the notification that gives a grant back.
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

// lateFrame gives back the grant in a reply whose caller has gone; nil = there is none.
func (h *held) lateFrame(d *codec.Decoder, reply []byte) []byte {
	token := h.token
	if h.kind.named {
		if token = namedBy(d, reply); token == "" {
			return nil
		}
	}
	return h.releaseFrame(token)
}

// naming is the part of a result that has the token, for all nouns.
type naming struct {
	Lease string `codec:"lease"`
	Token string `codec:"token"`
}

// namedBy is the token in a reply; empty if the reply grants nothing.
func namedBy(d *codec.Decoder, reply []byte) string {
	var r naming
	if decodeReply(d, reply, &r, "") != nil {
		return ""
	}
	return cmp.Or(r.Lease, r.Token)
}

// named notes the token of a lease that the sidecar names. The reader calls it with cn.mu
// held, because the loss of the lease may be reported right behind its grant.
func (cn *conn) named(h *held, reply []byte) {
	if h == nil || !h.kind.named {
		return
	}
	if h.token = namedBy(cn.dec, reply); h.token != "" && h.session {
		cn.held[h.token] = h
	}
}
