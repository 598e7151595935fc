package stream

import (
	"context"
	"strconv"
	"strings"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
)

// deadPageBytes bounds the bytes of one page of dead letters; a page of one letter may have more.
const deadPageBytes = 512 << 10

// Dead lists dead letters, the oldest first. If a message cannot be decoded, since no sidecar wrote
// it, its letter is listed without body and fields.
func (s *Streams) Dead(ctx context.Context, c coord.Caller, p *api.StreamDeadParams) (api.StreamDeadResult, error) {
	in := DeadIn{Keys: s.keys.streamKeys(p.Stream), Count: p.Count, Bytes: deadPageBytes}
	if p.After != "" {
		var err error
		if in.After, err = messageID("after", p.After); err != nil {
			return api.StreamDeadResult{}, err
		}
	}
	out, err := lua.Run(ctx, s.Runner, DeadScript, in, lua.StoredReply{})
	if err != nil {
		return api.StreamDeadResult{}, coord.Failed("stream "+p.Stream+": dead", err)
	}
	r := api.StreamDeadResult{Letters: make([]api.StreamDeadLetter, len(out.Value.Letters))}
	for i, l := range out.Value.Letters {
		m, err := unpack(l.Message)
		if err != nil {
			c.Logger().Warn("the message of a dead letter cannot be decoded; the letter is listed without it", "stream", p.Stream, "id", l.ID, "err", err)
		}
		r.Letters[i] = api.StreamDeadLetter{
			ID: l.ID, MessageID: l.MessageID, Group: l.Group, Attempts: l.Attempts, Reason: l.Reason, DeadAtMS: addedMS(l.ID),
			Body: m.Body, Fields: m.Fields, Traceparent: m.Traceparent,
		}
	}
	if n := len(r.Letters); out.Value.More && n > 0 {
		r.Next = r.Letters[n-1].ID
	}
	return r, nil
}

// addedMS returns when the entry with an id was added, in Unix milliseconds of the Redis server's
// clock.
func addedMS(id string) int64 {
	text, _, _ := strings.Cut(id, "-")
	ms, _ := strconv.ParseInt(text, 10, 64) // Redis makes no other ids
	return ms
}

// Redrive moves dead letters to the end of their stream, each for the group that failed to process
// it, all in one step. Ids without a dead letter are ignored.
//
// It logs who moved how many dead letters, as a record for operators.
func (s *Streams) Redrive(ctx context.Context, c coord.Caller, p *api.StreamRedriveParams) (api.StreamRedriveResult, error) {
	if (len(p.IDs) > 0) == (p.Count > 0) {
		return api.StreamRedriveResult{}, coord.Invalid("ids: give either ids, or count, the number of the oldest dead letters to move")
	}
	ids, err := messageIDs(p.IDs)
	if err != nil {
		return api.StreamRedriveResult{}, err
	}
	keys := s.keys.streamKeys(p.Stream)
	out, err := lua.Run(ctx, s.Runner, RedriveScript, RedriveIn{Keys: keys, IDs: ids, Count: p.Count}, coord.StoredReplyAlways(keys.Log, c))
	if err != nil {
		return api.StreamRedriveResult{}, coord.Failed("stream "+p.Stream+": redrive", err)
	}
	v := out.Value
	if !out.Replayed {
		by := c.Identity()
		c.Logger().Info("dead letters were moved back to their stream", "stream", p.Stream, "count", v.Redriven, "left", v.Left,
			"client", by.Client, "instance", by.Instance)
	}
	return api.StreamRedriveResult{Redriven: v.Redriven, Left: v.Left, Replayed: out.Replayed && c.RequestID != ""}, nil
}
