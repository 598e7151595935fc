package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"
	"github.com/coxswain-sidecar/coxswain/internal/redis"
)

const (
	// maxMany is the most messages of one publish_many.
	maxMany = 256
	// maxManyBytes is the most bytes that their bodies and fields have together.
	maxManyBytes = 768 << 10
)

// publishing lists the methods that add messages.
func (s *Streams) publishing() []coord.Method {
	byStream := coord.Named(noun, "stream")
	return []coord.Method{
		coord.On(api.StreamPublish, s.Publish, coord.Piped, byStream, s.publishes.Direct),
		coord.On(api.StreamPublishMany, s.PublishMany, byStream),
	}
}

// Publish adds a message to a stream, at once or when it is due.
func (s *Streams) Publish(ctx context.Context, c coord.Caller, p *api.StreamPublishParams) (api.StreamPublishResult, error) {
	c.Traceparent = traceparent(ctx, c)
	return s.publishes.Run(ctx, c, p)
}

// published is what the answer to a publish needs from the call's params.
type published struct {
	stream    string
	delayMS   int64
	requestID string
}

func (s *Streams) publication() coord.Single[api.StreamPublishParams, PublishIn, PublishOut, api.StreamPublishResult, published] {
	return coord.Single[api.StreamPublishParams, PublishIn, PublishOut, api.StreamPublishResult, published]{
		Runner: s.Runner, Script: PublishScript,
		Ask: func(c coord.Caller, p *api.StreamPublishParams, k *published) (ask coord.Question[PublishIn], _ coord.Prepared, r api.StreamPublishResult, _ error) {
			if size := sizeOf(p.Body, p.Fields); size > api.MaxBodyBytes {
				return ask, coord.Known, r, tooLong("body", size)
			}
			k.stream, k.delayMS, k.requestID = p.Stream, p.DelayMS, c.RequestID
			message, err := pack(carrying(c.Traceparent), p.Body, p.Fields)
			if err != nil {
				return ask, coord.Known, r, &coord.Error{Op: "stream " + p.Stream + ": publish", Err: err}
			}
			ask.In = s.newMessage(p.Stream, message, p.DedupeID)
			ask.In.DedupeMS, ask.In.DelayMS, ask.In.MaxLen = p.DedupeMS, p.DelayMS, p.MaxLen
			ask.Patience, ask.StoredReply = lua.Patient, coord.StoredReplyAlways(ask.In.Log, c)
			return ask, coord.Asking, r, nil
		},
		Answer: s.published,
	}
}

// newMessage returns the script input of a message that is added at once.
func (s *Streams) newMessage(stream, message, dedupeID string) PublishIn {
	n := s.named(stream)
	in := PublishIn{Keys: n.Keys, DelayedKeys: n.DelayedKeys, Message: message, Broadcast: n.broadcast}
	if dedupeID != "" {
		in.Dedupe = s.keys.dedupe(stream, dedupeID)
	}
	return in
}

// named are the keys of a stream that PublishScript needs.
type named struct {
	stream string
	Keys
	DelayedKeys
	broadcast string
}

// named returns the keys of a stream. It keeps those of the stream that was published to last:
// most publishers use one stream, and making the keys takes longer than the rest of the input.
func (s *Streams) named(stream string) *named {
	if n := s.newest.Load(); n != nil && n.stream == stream {
		return n
	}
	n := &named{stream, s.keys.streamKeys(stream), s.keys.delayedKeys(stream), s.keys.Broadcast()}
	s.newest.Store(n)
	return n
}

func (s *Streams) published(
	ctx context.Context, k *published, out lua.Outcome[PublishOut], err error,
) (r api.StreamPublishResult, _ coord.Rest[api.StreamPublishResult], _ error) {
	s.delayed(k.stream, k.delayMS, out.Value, err)
	if err != nil {
		return r, nil, coord.Failed("stream "+k.stream+": publish", err)
	}
	v := out.Value
	if v.Published && !out.Replayed {
		s.Telemetry.StreamMessages(ctx, "published", 1)
	}
	return api.StreamPublishResult{
		Published: v.Published, ID: v.ID, DueAtMS: v.DueMS, Replayed: out.Replayed && k.requestID != "",
	}, nil, nil
}

// delayed makes this sidecar look after the stream if a message of it may now wait until it is due.
func (s *Streams) delayed(stream string, delayMS int64, v PublishOut, err error) {
	if delayMS > 0 && (v.DueMS > 0 || errors.Is(err, redis.ErrMaybeExecuted)) {
		s.dues.published(stream, delayMS)
	}
}

// PublishMany adds 1 to 256 messages to a stream, in their order, in one pipeline. A message
// that fails does not prevent those after it. A repeated call adds only the messages that earlier
// calls did not add.
func (s *Streams) PublishMany(ctx context.Context, c coord.Caller, p *api.StreamPublishManyParams) (api.StreamPublishManyResult, error) {
	if err := checkMany(p.Messages); err != nil {
		return api.StreamPublishManyResult{}, err
	}
	traced := carrying(traceparent(ctx, c))
	ins, stored := make([]PublishIn, len(p.Messages)), make([]lua.StoredReply, len(p.Messages))
	for i, m := range p.Messages {
		message, err := pack(traced, m.Body, m.Fields)
		if err != nil {
			return api.StreamPublishManyResult{}, &coord.Error{Op: "stream " + p.Stream + ": publish_many", Err: err}
		}
		ins[i] = s.newMessage(p.Stream, message, m.DedupeID)
		ins[i].DedupeMS, ins[i].DelayMS, ins[i].MaxLen = m.DedupeMS, m.DelayMS, p.MaxLen
		stored[i] = coord.StoredReplyAlways(ins[i].Log, itemOf(c, i))
	}
	outs, errs := lua.BatchOnce(ctx, s.Runner, PublishScript, ins, stored)
	s.repeat(ctx, ins, stored, outs, errs)
	r := api.StreamPublishManyResult{Results: make([]api.StreamPublished, len(ins))}
	var added int64
	for i, out := range outs {
		s.delayed(p.Stream, ins[i].DelayMS, out.Value, errs[i])
		if errs[i] != nil {
			r.Results[i].Error = c.ItemError(coord.Failed("stream "+p.Stream+": publish_many", errs[i]))
			continue
		}
		r.Results[i] = api.StreamPublished{Published: out.Value.Published, ID: out.Value.ID, DueAtMS: out.Value.DueMS}
		if out.Value.Published && !out.Replayed {
			added++
		}
	}
	s.Telemetry.StreamMessages(ctx, "published", added)
	return r, nil
}

// repeat runs the items again that failed because of an outage, one after the other. If one fails
// again, the outage is not over: the items after it are not run again and keep their errors.
func (s *Streams) repeat(ctx context.Context, ins []PublishIn, stored []lua.StoredReply, outs []lua.Outcome[PublishOut], errs []error) {
	for i, err := range errs {
		if !errors.Is(err, redis.ErrUnavailable) && !errors.Is(err, redis.ErrMaybeExecuted) {
			continue
		}
		out, again := lua.Run(ctx, s.Runner, PublishScript, ins[i], stored[i])
		if again != nil {
			if !errors.Is(err, redis.ErrMaybeExecuted) { // the first run may have been executed, whatever this one reports
				errs[i] = again
			}
			return
		}
		outs[i], errs[i] = out, nil
	}
}

func checkMany(messages []api.StreamNewMessage) error {
	if n := len(messages); n == 0 || n > maxMany {
		return coord.Invalid("messages: there are %d; give 1 to %d", n, maxMany)
	}
	all := 0
	for i, m := range messages {
		size := sizeOf(m.Body, m.Fields)
		if size > api.MaxBodyBytes {
			return tooLong("messages["+strconv.Itoa(i)+"].body", size)
		}
		all += size
	}
	if all > maxManyBytes {
		return coord.Invalid("messages: their bodies and fields have %d bytes together; give at most %d, and the rest in another call", all, maxManyBytes)
	}
	return nil
}

// sizeOf returns how many bytes a message has, with the names of its fields.
func sizeOf(body []byte, fields map[string]string) int {
	size := len(body)
	for name, text := range fields {
		size += len(name) + len(text)
	}
	return size
}

func tooLong(field string, size int) error {
	return coord.Invalid("%s: with the fields it has %d bytes; give at most %d, for example a reference to where the data is", field, size, api.MaxBodyBytes)
}

// itemOf returns the caller of one message of a call, with a request id of its own.
func itemOf(c coord.Caller, i int) coord.Caller {
	if c.RequestID != "" {
		c.RequestID = fmt.Sprint(c.RequestID, ".", i)
	}
	return c
}

// traceparent returns the trace context that a message carries: that of the call's span, or, if
// there is no span, the one that the client sent.
func traceparent(ctx context.Context, c coord.Caller) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return c.Traceparent
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// carrying returns a context with that trace context, if it is valid.
func carrying(traceparent string) context.Context {
	ctx := context.Background()
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
