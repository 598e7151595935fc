package api

// The methods and the events of Pub/Sub.
var (
	PubsubPublish = define[PubsubPublishParams, PubsubPublishResult](Spec{
		Name: "pubsub.publish", Since: "0.1.0",
		Summary: "Sends a message to the present subscribers of a channel. The message is not kept.",
	})
	PubsubSubscribe = define[PubsubSubscribeParams, PubsubSubscribeResult](Spec{
		Name: "pubsub.subscribe", Since: "0.1.0",
		Summary: "Sends this connection the messages of channels as pubsub.message, each at most once. The call returns when Redis has confirmed the subscription.",
	})
	PubsubUnsubscribe = define[PubsubUnsubscribeParams, PubsubUnsubscribeResult](Spec{
		Name: "pubsub.unsubscribe", Idempotent: true, Since: "0.1.0",
		Summary: "Ends a subscription.",
	})
	PubsubMessageEvent = defineEvent[PubsubMessage](Spec{
		Name: "pubsub.message", Since: "0.1.0",
		Summary: "A message for a subscription of this connection.",
	})
	PubsubGapEvent = defineEvent[PubsubGap](Spec{
		Name: "pubsub.gap", Since: "0.1.0",
		Summary: "Messages of a subscription were not sent: the client reads this connection too slowly, or Redis was unreachable for a while.",
	})
)

// PubsubPublishParams are a message.
type PubsubPublishParams struct {
	Channel string `codec:"channel" required:"true" doc:"the channel"`
	Body    []byte `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB"`
}

// PubsubPublishResult counts the receivers.
type PubsubPublishResult struct {
	Receivers int64 `codec:"receivers" doc:"to how many sidecars the Redis node that was asked sent the message, where a sidecar counts once for the channel and once for each pattern that matches it; 0 = the channel has no subscriber, if the whole fleet uses one Redis node"`
}

// PubsubSubscribeParams select the messages to be sent.
type PubsubSubscribeParams struct {
	Channels []string `codec:"channels,omitempty" doc:"channels to subscribe to; channels and patterns are at most 256 together"`
	Patterns []string `codec:"patterns,omitempty" doc:"patterns of channels as in Redis: * ? [ab], and a backslash before a character that stands for itself"`
	Buffer   int64    `codec:"buffer,omitempty" default:"1000" min:"1" max:"100000" doc:"how many messages are kept while the client does not read this connection; further ones are dropped, and pubsub.gap reports how many"`
}

// PubsubSubscribeResult is the subscription's id.
type PubsubSubscribeResult struct {
	Subscription string `codec:"subscription" doc:"the id of the subscription, for pubsub.unsubscribe; its messages carry it"`
}

// PubsubUnsubscribeParams select a subscription.
type PubsubUnsubscribeParams struct {
	Subscription string `codec:"subscription" required:"true" doc:"the id that pubsub.subscribe returned"`
}

// PubsubUnsubscribeResult reports the outcome.
type PubsubUnsubscribeResult struct {
	Unsubscribed bool `codec:"unsubscribed" doc:"this connection had the subscription, which has ended"`
}

// PubsubMessage is a message for a subscription.
type PubsubMessage struct {
	Subscription string `codec:"subscription" doc:"the id that pubsub.subscribe returned"`
	Channel      string `codec:"channel" doc:"the channel"`
	Pattern      string `codec:"pattern,omitempty" doc:"the pattern that matched; absent if the subscription names the channel. A message that several patterns match is sent once for each"`
	Body         []byte `codec:"body" doc:"the body of the message"`
}

// PubsubGap reports messages that were not sent.
type PubsubGap struct {
	Subscription string `codec:"subscription" doc:"the id that pubsub.subscribe returned"`
	Dropped      int64  `codec:"dropped" doc:"how many messages were not sent; -1 = unknown, because Redis was unreachable"`
}
