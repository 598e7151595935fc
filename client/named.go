package client

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
