package stream

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// readPageBytes bounds the bytes of one page; a page of one message may have more.
const readPageBytes = 512 << 10

// Read lists messages of a stream, the oldest first, without delivering them to a group or changing
// one. An entry that cannot be decoded, since no sidecar wrote it, is listed without body and
// fields.
func (s *Streams) Read(ctx context.Context, c coord.Caller, p *api.StreamReadParams) (r api.StreamReadResult, _ error) {
	in := ReadIn{Keys: s.keys.streamKeys(p.Stream), Count: p.Count, Bytes: readPageBytes}
	if p.After != "" {
		var err error
		if in.After, err = messageID("after", p.After); err != nil {
			return r, err
		}
	} else {
		in.Newest = p.Start == api.StartNew
	}
	out, err := lua.Run(ctx, s.Runner, ReadScript, in, lua.StoredReply{})
	if err != nil {
		return r, coord.Failed("stream "+p.Stream+": read", err)
	}
	v := out.Value
	r.Next, r.More = v.Last, v.More
	r.Messages = make([]api.StreamEntry, len(v.Messages))
	for i, m := range v.Messages {
		e, err := unpack(m.Message)
		if err != nil {
			c.Logger().Warn("an entry of a stream cannot be decoded; it is listed without body and fields", "stream", p.Stream, "id", m.ID, "err", err)
		}
		r.Messages[i] = api.StreamEntry{
			ID: m.ID, Body: e.Body, Fields: e.Fields, Group: m.Only, PublishedAtMS: publishedMS(m.ID), Traceparent: e.Traceparent,
		}
	}
	return r, nil
}
