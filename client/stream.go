package client

import (
	"context"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// StreamPublish adds a message to the end of a stream, or later with DelayMS. With Options.Tracer
// it carries the trace context of ctx. When the call is repeated because its connection broke,
// the message is added once.
func (c *Client) StreamPublish(ctx context.Context, p api.StreamPublishParams) (api.StreamPublishResult, error) {
	return Call(ctx, c, api.StreamPublish, p)
}

// StreamPublishMany adds 1 to 256 messages to the end of a stream, in their order, in one
// call. Look at the Error of each result.
func (c *Client) StreamPublishMany(ctx context.Context, p api.StreamPublishManyParams) ([]api.StreamPublished, error) {
	r, err := Call(ctx, c, api.StreamPublishMany, p)
	return r.Results, err
}

// StreamFetch takes messages of a group, at once or within WaitMS. Acknowledge each with
// StreamAck or StreamNack. Those of a call that is repeated because its connection broke come
// again.
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

// StreamNack ends the delivery of a message that was not dealt with. A DelayMS of 0 is the
// default here, which doubles with each attempt: give 1 to have it delivered at once.
func (c *Client) StreamNack(ctx context.Context, p api.StreamNackParams) (api.StreamNackResult, error) {
	return Call(ctx, c, api.StreamNack, p)
}

// StreamExtend starts the visibility timeout of a message again, which only one that is bound
// to its TTL needs.
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

// StreamRead lists messages of a stream, the oldest first, and takes nothing from anybody. Give
// Next of one answer as After of the next call.
func (c *Client) StreamRead(ctx context.Context, p api.StreamReadParams) (api.StreamReadResult, error) {
	return Call(ctx, c, api.StreamRead, p)
}

// StreamDead lists a page of the dead letters of a stream, the oldest first.
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

// StreamList returns a page of streams. Give Cursor of one answer to the next call.
func (c *Client) StreamList(ctx context.Context, p api.StreamListParams) (api.StreamListResult, error) {
	return Call(ctx, c, api.StreamList, p)
}
