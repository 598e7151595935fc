package client

import (
	"cmp"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// releaseFrame is the notification that gives it back.
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
		Token string `codec:"token"`
	}
	if decodeReply(d, reply, &r) != nil {
		return ""
	}
	return cmp.Or(r.Lease, r.Token)
}
