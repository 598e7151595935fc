package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// StreamPublish adds a message to the end of a stream, with DelayMS after that delay. With
// Options.Tracer the message carries the trace context of ctx. If the call is repeated because its
// connection broke, the message is still added only once.
func (c *Client) StreamPublish(ctx context.Context, p api.StreamPublishParams) (api.StreamPublishResult, error) {
	return Call(ctx, c, api.StreamPublish, p)
}

// StreamPublishMany adds 1 to 256 messages to the end of a stream, in their order, in one
// call. Check the Error of each result.
func (c *Client) StreamPublishMany(ctx context.Context, p api.StreamPublishManyParams) ([]api.StreamPublished, error) {
	r, err := Call(ctx, c, api.StreamPublishMany, p)
	return r.Results, err
}

// StreamFetch takes messages of a group, at once or within WaitMS. Answer each with StreamAck or
// StreamNack. If the call is repeated because its connection broke, the messages that it took
// before are delivered again.
func (c *Client) StreamFetch(ctx context.Context, p api.StreamFetchParams) ([]api.StreamMessage, error) {
	r, err := Call(ctx, c, api.StreamFetch, p)
	return r.Messages, err
}

// StreamAck acknowledges a message, and reports whether it was delivered to the group and not yet
// acknowledged.
func (c *Client) StreamAck(ctx context.Context, p api.StreamMessageParams) (bool, error) {
	r, err := Call(ctx, c, api.StreamAck, p)
	return r.Acked, err
}

// StreamNack ends the delivery of a message that was not processed. A DelayMS of 0 counts as not
// set here, and the delay doubles with each attempt: use 1 to have the message delivered at once.
func (c *Client) StreamNack(ctx context.Context, p api.StreamNackParams) (api.StreamNackResult, error) {
	return Call(ctx, c, api.StreamNack, p)
}

// StreamExtend restarts the visibility timeout of a message. Only a message that is bound to its
// TTL needs it.
func (c *Client) StreamExtend(ctx context.Context, p api.StreamMessageParams) (api.StreamExtendResult, error) {
	return Call(ctx, c, api.StreamExtend, p)
}

// StreamStats counts the messages of a stream and of its groups.
func (c *Client) StreamStats(ctx context.Context, p api.StreamStatsParams) (api.StreamStatsResult, error) {
	return Call(ctx, c, api.StreamStats, p)
}

// StreamGroups lists the groups of a stream and their consumers.
func (c *Client) StreamGroups(ctx context.Context, stream string) ([]api.StreamGroupDetail, error) {
	r, err := Call(ctx, c, api.StreamGroups, api.StreamParams{Stream: stream})
	return r.Groups, err
}

// StreamRead lists messages of a stream, the oldest first, without affecting any group. Pass the
// Next of its result as After of the next call.
func (c *Client) StreamRead(ctx context.Context, p api.StreamReadParams) (api.StreamReadResult, error) {
	return Call(ctx, c, api.StreamRead, p)
}

// StreamDead lists one page of the dead letters of a stream, the oldest first. Pass the Next of its
// result as After of the next call.
func (c *Client) StreamDead(ctx context.Context, p api.StreamDeadParams) (api.StreamDeadResult, error) {
	return Call(ctx, c, api.StreamDead, p)
}

// StreamRedrive moves dead letters back to the end of their stream.
func (c *Client) StreamRedrive(ctx context.Context, p api.StreamRedriveParams) (api.StreamRedriveResult, error) {
	return Call(ctx, c, api.StreamRedrive, p)
}

// StreamTrim deletes messages of a stream, or dead letters.
func (c *Client) StreamTrim(ctx context.Context, p api.StreamTrimParams) (api.StreamTrimResult, error) {
	return Call(ctx, c, api.StreamTrim, p)
}

// StreamList returns one page of streams. Pass the Cursor of its result to the next call.
func (c *Client) StreamList(ctx context.Context, p api.StreamListParams) (api.StreamListResult, error) {
	return Call(ctx, c, api.StreamList, p)
}
