package stream

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// Trim deletes messages of a stream or its dead letters, in exactly one of three ways. A
// pending message is deleted too; its group finds that at the next delivery, and counts the message
// as trimmed.
//
// It logs who deleted how many messages, as a record for operators.
func (s *Streams) Trim(ctx context.Context, c coord.Caller, p *api.StreamTrimParams) (api.StreamTrimResult, error) {
	in, err := s.trimming(p)
	if err != nil {
		return api.StreamTrimResult{}, err
	}
	out, err := lua.Run(ctx, s.Runner, TrimScript, in, lua.StoredReply{})
	if err != nil {
		return api.StreamTrimResult{}, coord.Failed("stream "+p.Stream+": trim", err)
	}
	v, by := out.Value, c.Identity()
	if v.Deleted > 0 {
		c.Logger().Info("messages were deleted from a stream", "stream", p.Stream, "dead", p.Dead, "count", v.Deleted, "left", v.Left,
			"client", by.Client, "instance", by.Instance)
	}
	return api.StreamTrimResult{Deleted: v.Deleted, Left: v.Left}, nil
}

// trimming converts the params of a call to the script's input.
func (s *Streams) trimming(p *api.StreamTrimParams) (TrimIn, error) {
	in := TrimIn{Keys: s.keys.streamKeys(p.Stream), Dead: p.Dead, MaxLen: -1, OlderMS: -1}
	ways := 0
	if p.MaxLen != nil {
		ways, in.MaxLen = ways+1, *p.MaxLen
	}
	if p.OlderMS != nil {
		ways, in.OlderMS = ways+1, *p.OlderMS
	}
	if len(p.IDs) > 0 {
		ways++
		var err error
		if in.IDs, err = messageIDs(p.IDs); err != nil {
			return TrimIn{}, err
		}
	}
	if ways != 1 {
		return TrimIn{}, coord.Invalid("maxlen: give exactly one of maxlen, older_ms and ids")
	}
	return in, nil
}
