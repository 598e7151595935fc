package api

// The methods of Pub/Sub.
var (
	PubsubPublish = define[PubsubPublishParams, PubsubPublishResult](Spec{
		Name: "pubsub.publish", Since: "0.1.0",
		Summary: "Sends a message to those who are subscribed to a channel now. It is not kept.",
	})
	PubsubSubscribe = define[PubsubSubscribeParams, PubsubSubscribeResult](Spec{
		Name: "pubsub.subscribe", Since: "0.1.0",
		Summary: "Has this connection sent the messages of channels as pubsub.message, at most once each. It answers once Redis has confirmed.",
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
		Summary: "Messages of a subscription were not sent: this connection is read too slowly, or Redis was not reached for a while.",
	})
)

// PubsubPublishParams are one message.
type PubsubPublishParams struct {
	Channel string `codec:"channel" required:"true" doc:"the channel"`
	Body    []byte `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB"`
}

// PubsubPublishResult counts who was told.
type PubsubPublishResult struct {
	Receivers int64 `codec:"receivers" doc:"sidecars that were told, on the Redis node that was asked; 0 = nobody in a fleet on one Redis"`
}

// PubsubSubscribeParams say what to be sent.
type PubsubSubscribeParams struct {
	Channels []string `codec:"channels,omitempty" doc:"channels, at most 256 of both together"`
	Patterns []string `codec:"patterns,omitempty" doc:"patterns of channels as of Redis: * ? [ab] and a backslash before what stands for itself"`
	Buffer   int64    `codec:"buffer,omitempty" default:"1000" min:"1" max:"100000" doc:"how many messages are kept while this connection is not read; those that come then are dropped and told by pubsub.gap"`
}

// PubsubSubscribeResult names the subscription.
type PubsubSubscribeResult struct {
	Subscription string `codec:"subscription" doc:"the subscription, for pubsub.unsubscribe; its messages name it"`
}

// PubsubUnsubscribeParams name a subscription.
type PubsubUnsubscribeParams struct {
	Subscription string `codec:"subscription" required:"true" doc:"what pubsub.subscribe answered"`
}

// PubsubUnsubscribeResult says what was found.
type PubsubUnsubscribeResult struct {
	Unsubscribed bool `codec:"unsubscribed" doc:"the subscription was this connection's"`
}

// PubsubMessage is one message.
type PubsubMessage struct {
	Subscription string `codec:"subscription" doc:"what pubsub.subscribe answered"`
	Channel      string `codec:"channel" doc:"the channel"`
	Pattern      string `codec:"pattern,omitempty" doc:"the pattern that it matched; absent for channels; a message that several match comes once for each"`
	Body         []byte `codec:"body" doc:"its body"`
}

// PubsubGap tells of messages that were not sent.
type PubsubGap struct {
	Subscription string `codec:"subscription" doc:"what pubsub.subscribe answered"`
	Dropped      int64  `codec:"dropped" doc:"how many; -1 = it is not known, since Redis was not reached"`
}
