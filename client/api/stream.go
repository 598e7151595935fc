package api

// The methods and the events of streams.
var (
	StreamPublish = define[StreamPublishParams, StreamPublishResult](Spec{
		Name: "stream.publish", Since: "0.1.0",
		Summary: "Adds a message to the end of a stream, with delay_ms after that delay.",
	})
	StreamPublishMany = define[StreamPublishManyParams, StreamPublishManyResult](Spec{
		Name: "stream.publish_many", Since: "0.1.0",
		Summary: "Adds messages to the end of a stream, in their order. Each has its own outcome.",
	})
	StreamSubscribe = define[StreamSubscribeParams, StreamSubscribeResult](Spec{
		Name: "stream.subscribe", Since: "0.1.0",
		Summary: "Sends this connection the messages of a group as stream.message, with at most prefetch of them unacknowledged. " +
			"Creates the group if it does not exist.",
	})
	StreamUnsubscribe = define[StreamUnsubscribeParams, StreamUnsubscribeResult](Spec{
		Name: "stream.unsubscribe", Idempotent: true, Since: "0.1.0",
		Summary: "Ends a subscription. Messages that were already sent stay delivered to this connection until they are acknowledged or it closes.",
	})
	StreamFetch = define[StreamFetchParams, StreamFetchResult](Spec{
		Name: "stream.fetch", Since: "0.1.0",
		Summary: "Takes messages of a group, at once or within wait_ms. Creates the group if it does not exist.",
	})
	StreamAck = define[StreamMessageParams, StreamAckResult](Spec{
		Name: "stream.ack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Acknowledges a message: its delivery ends, and the group is not given it again.",
	})
	StreamNack = define[StreamNackParams, StreamNackResult](Spec{
		Name: "stream.nack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Ends the delivery of a message that was not processed: it is delivered again after delay_ms, " +
			"or moved to the dead letters after its last attempt.",
	})
	StreamExtend = define[StreamMessageParams, StreamExtendResult](Spec{
		Name: "stream.extend", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Restarts the visibility timeout of a message. The sidecar extends messages that are bound to the session itself.",
	})
	StreamList = define[StreamListParams, StreamListResult](Spec{
		Name: "stream.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the streams, and how far their groups are behind, one page at a time, in no particular order. " +
			"An entry that is added or removed during the listing may be missing or still listed.",
	})
	StreamStats = define[StreamStatsParams, StreamStatsResult](Spec{
		Name: "stream.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the messages of a stream and, for each group, those that are not delivered and those that are not acknowledged.",
	})
	StreamGroups = define[StreamParams, StreamGroupsResult](Spec{
		Name: "stream.groups", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the groups of a stream and their consumers. A consumer is a pod.",
	})
	StreamRead = define[StreamReadParams, StreamReadResult](Spec{
		Name: "stream.read", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lists messages of a stream, the oldest first, without a group: no group is affected.",
	})
	StreamDead = define[StreamDeadParams, StreamDeadResult](Spec{
		Name: "stream.dead", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lists the dead letters of a stream, the oldest first.",
	})
	StreamRedrive = define[StreamRedriveParams, StreamRedriveResult](Spec{
		Name: "stream.redrive", Admin: true, Since: "0.1.0",
		Summary: "Moves dead letters back to the end of their stream, each for the group that failed to process it.",
	})
	StreamTrim = define[StreamTrimParams, StreamTrimResult](Spec{
		Name: "stream.trim", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Deletes the oldest messages of a stream, or dead letters.",
	})
	StreamMessageEvent = defineEvent[StreamMessage](Spec{
		Name: "stream.message", Since: "0.1.0",
		Summary: "A message for a subscription of this connection. Answer it by stream.ack or stream.nack.",
	})
	StreamLost = defineEvent[LostParams](Spec{
		Name: "stream.lost", Since: "0.1.0",
		Summary: "This connection has lost a message: token is its id; name is the stream, a colon and the group, in which " +
			"% { } : and control bytes are written as %XX. The message is delivered again, or it was acknowledged or trimmed.",
	})
)

// StartNew is the start of a group that is given only messages published from now on.
const StartNew = "new"

// StreamParams select a stream.
type StreamParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
}

// StreamPublishParams are a message.
type StreamPublishParams struct {
	Stream   string            `codec:"stream" required:"true" doc:"the stream"`
	Body     []byte            `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB"`
	Fields   map[string]string `codec:"fields,omitempty" maxlen:"262144" doc:"texts by name, at most 256 KiB together, in addition to the body or instead of it"`
	DedupeID string            `codec:"dedupe_id,omitempty" doc:"if a message with the same dedupe_id was published within the last dedupe_ms, this one is not added"`
	DedupeMS int64             `codec:"dedupe_ms,omitempty" default:"300000" min:"1000" max:"86400000" doc:"milliseconds for which dedupe_id is remembered"`
	DelayMS  int64             `codec:"delay_ms,omitempty" default:"0" min:"0" max:"2592000000" doc:"milliseconds until it is added to the stream"`
	MaxLen   int64             `codec:"maxlen,omitempty" default:"0" min:"0" max:"1000000000" doc:"when this message is added, the stream is cut to about this many of its newest messages; a few more may stay; 0 = keep all"`
}

// StreamPublishResult is the outcome of publishing a message.
type StreamPublishResult struct {
	Published bool   `codec:"published" doc:"the message was added, or will be after its delay; false = it is a duplicate by its dedupe_id"`
	ID        string `codec:"id,omitempty" doc:"its id in the stream; for a duplicate, the id of the first message; absent for a delayed message"`
	DueAtMS   int64  `codec:"due_at_ms,omitempty" doc:"when a delayed message is added, by the Redis server's clock, Unix milliseconds"`
	Replayed  bool   `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id"`
}

// StreamPublishManyParams are messages for one stream.
type StreamPublishManyParams struct {
	Stream   string             `codec:"stream" required:"true" doc:"the stream"`
	Messages []StreamNewMessage `codec:"messages" required:"true" doc:"1 to 256 messages, at most 768 KiB together"`
	MaxLen   int64              `codec:"maxlen,omitempty" default:"0" min:"0" max:"1000000000" doc:"as in stream.publish"`
}

// StreamNewMessage is one of several messages to publish.
type StreamNewMessage struct {
	Body     []byte            `codec:"body,omitempty" maxlen:"262144" doc:"as in stream.publish"`
	Fields   map[string]string `codec:"fields,omitempty" maxlen:"262144" doc:"as in stream.publish"`
	DedupeID string            `codec:"dedupe_id,omitempty" doc:"as in stream.publish"`
	DedupeMS int64             `codec:"dedupe_ms,omitempty" default:"300000" min:"1000" max:"86400000" doc:"as in stream.publish"`
	DelayMS  int64             `codec:"delay_ms,omitempty" default:"0" min:"0" max:"2592000000" doc:"as in stream.publish"`
}

// StreamPublishManyResult has the outcome of each message.
type StreamPublishManyResult struct {
	Results []StreamPublished `codec:"results" doc:"one for each message, in their order"`
}

// StreamPublished is the outcome of publishing one of several messages.
type StreamPublished struct {
	Published bool       `codec:"published" doc:"as in stream.publish"`
	ID        string     `codec:"id,omitempty" doc:"as in stream.publish"`
	DueAtMS   int64      `codec:"due_at_ms,omitempty" doc:"as in stream.publish"`
	Error     *ItemError `codec:"error,omitempty" doc:"why this message failed; the others are not affected"`
}

// StreamSubscribeParams set which messages are delivered, and how.
type StreamSubscribeParams struct {
	Stream        string `codec:"stream" required:"true" doc:"the stream"`
	Group         string `codec:"group" required:"true" doc:"the group of consumers; each message goes to one of them. The latest subscription or fetch in a pod sets visibility_ms and max_deliveries for the whole group in that pod"`
	Prefetch      int64  `codec:"prefetch,omitempty" default:"16" min:"1" max:"1000" doc:"how many messages this subscription may have unacknowledged"`
	MaxDeliveries int64  `codec:"max_deliveries,omitempty" default:"5" min:"1" max:"1000" doc:"how many times a message is delivered; if it is then not acknowledged, it is moved to the dead letters"`
	VisibilityMS  int64  `codec:"visibility_ms,omitempty" default:"60000" min:"100" max:"43200000" doc:"the visibility timeout in milliseconds: when it ends, the message is delivered to another consumer, unless it was acknowledged or extended"`
	Bind          string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar extends messages while this connection is open; ttl = a delivery lasts visibility_ms unless the client extends it. In both cases messages are delivered again at once when the connection closes"`
	Start         string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"where the group begins if this call creates it: first = with the oldest message; new = with messages published from now on"`
	Rule          string `codec:"rule,omitempty" doc:"given together with key: a message is delivered only when this rule admits its key. Messages of other keys overtake it; those of one key are delivered one at a time, in their order. The latest subscription or fetch in a pod sets the rule for the whole group in that pod"`
	Key           string `codec:"key,omitempty" doc:"given together with rule: the field of messages that contains the key, such as host. All subscriptions and fetches of a group must name the same field; a message without it is moved to the dead letters"`
}

// StreamSubscribeResult is the subscription's id.
type StreamSubscribeResult struct {
	Subscription string `codec:"subscription" doc:"the id of the subscription, for stream.unsubscribe; its messages carry it"`
	Created      bool   `codec:"created" doc:"the call created the group"`
}

// StreamUnsubscribeParams select a subscription.
type StreamUnsubscribeParams struct {
	Subscription string `codec:"subscription" required:"true" doc:"the id that stream.subscribe returned"`
}

// StreamUnsubscribeResult reports the outcome.
type StreamUnsubscribeResult struct {
	Unsubscribed bool `codec:"unsubscribed" doc:"this connection had the subscription, which has ended"`
}

// StreamFetchParams set which messages to take.
type StreamFetchParams struct {
	Stream        string `codec:"stream" required:"true" doc:"the stream"`
	Group         string `codec:"group" required:"true" doc:"the group of consumers"`
	Count         int64  `codec:"count,omitempty" default:"1" min:"1" max:"256" doc:"the most messages to return; fewer are returned if they would exceed 512 KiB together"`
	WaitMS        int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"how many milliseconds the call may wait for the first message, within its deadline"`
	MaxDeliveries int64  `codec:"max_deliveries,omitempty" default:"5" min:"1" max:"1000" doc:"as in stream.subscribe"`
	VisibilityMS  int64  `codec:"visibility_ms,omitempty" default:"60000" min:"100" max:"43200000" doc:"as in stream.subscribe"`
	Bind          string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"as in stream.subscribe; with ttl, the closing of the connection does not end the deliveries"`
	Start         string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"as in stream.subscribe"`
	Rule          string `codec:"rule,omitempty" doc:"as in stream.subscribe"`
	Key           string `codec:"key,omitempty" doc:"as in stream.subscribe"`
}

// StreamFetchResult has the messages.
type StreamFetchResult struct {
	Messages []StreamMessage `codec:"messages" doc:"the messages; empty if there was none within wait_ms"`
}

// StreamMessage is one delivery of a message.
type StreamMessage struct {
	Subscription  string            `codec:"subscription,omitempty" doc:"the id of the subscription; absent in the result of stream.fetch"`
	Stream        string            `codec:"stream" doc:"the stream"`
	Group         string            `codec:"group" doc:"the group"`
	ID            string            `codec:"id" doc:"its id in the stream"`
	Body          []byte            `codec:"body,omitempty" doc:"its body"`
	Fields        map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Attempt       int64             `codec:"attempt" doc:"how many times it has been delivered, counting from 1"`
	PublishedAtMS int64             `codec:"published_at_ms" doc:"when it was added to the stream, by the Redis server's clock, Unix milliseconds"`
	Traceparent   string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher, for a span link"`
}

// StreamMessageParams select a message that was delivered to a group.
type StreamMessageParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Group  string `codec:"group" required:"true" doc:"the group"`
	ID     string `codec:"id" required:"true" doc:"the id of the message"`
}

// StreamAckResult reports the outcome.
type StreamAckResult struct {
	Acked bool `codec:"acked" doc:"this call acknowledged the message; false = it was already acknowledged, is a dead letter, or was never delivered to the group"`
}

// StreamNackParams select a message that was not processed.
type StreamNackParams struct {
	Stream  string `codec:"stream" required:"true" doc:"the stream"`
	Group   string `codec:"group" required:"true" doc:"the group"`
	ID      string `codec:"id" required:"true" doc:"the id of the message"`
	DelayMS int64  `codec:"delay_ms,omitempty" default:"-1" min:"-1" max:"86400000" doc:"milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each further one, at most 5 min"`
	Dead    bool   `codec:"dead,omitempty" doc:"move the message to the dead letters at once"`
	Reason  string `codec:"reason,omitempty" doc:"the reason, which the dead letter keeps"`
}

// StreamNackResult reports what happened to the message.
type StreamNackResult struct {
	Nacked  bool  `codec:"nacked" doc:"the message was delivered and not acknowledged; false = nothing was done"`
	Dead    bool  `codec:"dead" doc:"the message is a dead letter now"`
	DelayMS int64 `codec:"delay_ms" doc:"milliseconds until it is delivered again; 0 = at once, or it is a dead letter"`
}

// StreamExtendResult reports the outcome.
type StreamExtendResult struct {
	Extended bool   `codec:"extended" doc:"the message is delivered to this pod for another visibility_ms"`
	Reason   string `codec:"reason" enum:"extended,not_pending,taken" doc:"the outcome; not_pending = it was acknowledged or deleted; taken = it is delivered to another pod"`
}

// StreamStatsParams select a stream.
type StreamStatsParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Group  string `codec:"group,omitempty" doc:"count only this group; absent = all groups"`
}

// StreamStatsResult are the counts of a stream, all of one instant, and those of each group.
type StreamStatsResult struct {
	Length  int64         `codec:"length" doc:"messages in the stream, acknowledged ones included"`
	Delayed int64         `codec:"delayed" doc:"delayed messages that are not yet added to the stream"`
	Dead    int64         `codec:"dead" doc:"dead letters"`
	Trimmed int64         `codec:"trimmed" doc:"messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used"`
	Groups  []StreamGroup `codec:"groups" doc:"its groups, sorted by name"`
}

// StreamGroup is the state of one group.
type StreamGroup struct {
	Group           string `codec:"group" doc:"the group"`
	Lag             int64  `codec:"lag" doc:"messages that it was not yet given; -1 = unknown: Redis does not have the number, and there are too many to count"`
	Pending         int64  `codec:"pending" doc:"messages that it was given and has not acknowledged"`
	Retrying        int64  `codec:"retrying" doc:"pending messages that wait for their delay after stream.nack"`
	Parked          int64  `codec:"parked,omitempty" doc:"if the group delivers by key: messages that wait for the limit of their key or for the message before them; they count neither as lag nor as pending"`
	Consumers       int64  `codec:"consumers" doc:"pods that take part in the group"`
	OldestPendingMS int64  `codec:"oldest_pending_ms" doc:"milliseconds since the oldest pending message was published; 0 when there is none"`
	LastDeliveredID string `codec:"last_delivered_id" doc:"the id of the newest message that it was given"`
}

// StreamGroupsResult is a list of groups.
type StreamGroupsResult struct {
	Groups []StreamGroupDetail `codec:"groups" doc:"its groups, sorted by name"`
}

// StreamGroupDetail is a group and its consumers.
type StreamGroupDetail struct {
	Group     string           `codec:"group" doc:"the group"`
	Consumers []StreamConsumer `codec:"consumers" doc:"the pods that take part in the group, sorted by name"`
}

// StreamConsumer is a pod as a member of a group.
type StreamConsumer struct {
	Name    string `codec:"name" doc:"the pod"`
	Pending int64  `codec:"pending" doc:"messages that it was given and has not acknowledged"`
	IdleMS  int64  `codec:"idle_ms" doc:"milliseconds since it was last active"`
}

// StreamReadParams select the messages to list.
type StreamReadParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	After  string `codec:"after,omitempty" doc:"list only messages after this id; pass the next of the previous result"`
	Start  string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"where to begin without after: first = with the oldest message; new = with messages published from now on, so this call lists none"`
	Count  int64  `codec:"count,omitempty" default:"20" min:"1" max:"256" doc:"the most messages to return; fewer are returned if they would exceed 512 KiB together"`
}

// StreamReadResult is a list of messages.
type StreamReadResult struct {
	Messages []StreamEntry `codec:"messages" doc:"the messages, acknowledged ones included"`
	Next     string        `codec:"next" doc:"the after of the next call, present even if nothing was listed"`
	More     bool          `codec:"more" doc:"the stream already has further messages"`
}

// StreamEntry is a message in its stream.
type StreamEntry struct {
	ID            string            `codec:"id" doc:"its id in the stream"`
	Body          []byte            `codec:"body,omitempty" doc:"its body"`
	Fields        map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Group         string            `codec:"group,omitempty" doc:"for a message that stream.redrive moved back: the only group that is given it"`
	PublishedAtMS int64             `codec:"published_at_ms" doc:"when it was added to the stream, by the Redis server's clock, Unix milliseconds"`
	Traceparent   string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher"`
}

// StreamDeadParams select the dead letters to list.
type StreamDeadParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Count  int64  `codec:"count,omitempty" default:"20" min:"1" max:"256" doc:"the most messages to return; fewer are returned if they would exceed 512 KiB together"`
	After  string `codec:"after,omitempty" doc:"list only dead letters after this id; pass the next of the previous result"`
}

// StreamDeadResult is a list of dead letters.
type StreamDeadResult struct {
	Letters []StreamDeadLetter `codec:"letters" doc:"the dead letters"`
	Next    string             `codec:"next,omitempty" doc:"the after of the next call; absent when there are no more"`
}

// StreamDeadLetter is a message that a group failed to process.
type StreamDeadLetter struct {
	ID          string            `codec:"id" doc:"the id of the dead letter, for stream.redrive and stream.trim"`
	MessageID   string            `codec:"message_id" doc:"the id that the message had in the stream"`
	Group       string            `codec:"group" doc:"the group that failed to process it"`
	Attempts    int64             `codec:"attempts" doc:"how many times it was delivered"`
	Reason      string            `codec:"reason" doc:"the reason given to stream.nack, or max_deliveries"`
	DeadAtMS    int64             `codec:"dead_at_ms" doc:"when it became a dead letter, by the Redis server's clock, Unix milliseconds"`
	Body        []byte            `codec:"body,omitempty" doc:"its body"`
	Fields      map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Traceparent string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher"`
}

// StreamRedriveParams select the dead letters to move back.
type StreamRedriveParams struct {
	Stream string   `codec:"stream" required:"true" doc:"the stream"`
	IDs    []string `codec:"ids,omitempty" doc:"the ids of the dead letters, at most 256"`
	Count  int64    `codec:"count,omitempty" default:"0" min:"0" max:"256" doc:"instead of ids: how many to move, the oldest first"`
}

// StreamRedriveResult counts the dead letters that were moved.
type StreamRedriveResult struct {
	Redriven int64 `codec:"redriven" doc:"dead letters that were moved back to the stream"`
	Left     int64 `codec:"left" doc:"dead letters that are left"`
	Replayed bool  `codec:"replayed,omitempty" doc:"this is the stored reply of an earlier call with the same request id"`
}

// StreamTrimParams select what to delete. Exactly one of maxlen, older_ms and ids must be given.
type StreamTrimParams struct {
	Stream  string   `codec:"stream" required:"true" doc:"the stream"`
	Dead    bool     `codec:"dead,omitempty" doc:"delete dead letters instead of messages"`
	MaxLen  *int64   `codec:"maxlen,omitempty" min:"0" max:"1000000000" doc:"keep only this many of the newest ones"`
	OlderMS *int64   `codec:"older_ms,omitempty" min:"0" max:"31536000000" doc:"delete those that were added more than this many milliseconds ago"`
	IDs     []string `codec:"ids,omitempty" doc:"delete those with these ids, at most 256"`
}

// StreamTrimResult counts what was deleted.
type StreamTrimResult struct {
	Deleted int64 `codec:"deleted" doc:"messages or dead letters that were deleted"`
	Left    int64 `codec:"left" doc:"messages or dead letters that are left"`
}

// StreamListParams select one page of the list.
type StreamListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor that the previous page returned; absent = the first page"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many entries to list"`
	State  string `codec:"state,omitempty" enum:"behind,dead" doc:"behind = only streams with a group that has undelivered or unacknowledged messages; dead = only streams with dead letters; absent = all"`
}

// The states that stream.list can select by.
const (
	StreamBehind      = "behind"
	StreamDeadLetters = "dead"
)

// StreamListResult is one page of the list.
type StreamListResult struct {
	Streams []StreamListed `codec:"streams" doc:"the entries of this page; a page may be empty without being the last"`
	Cursor  string         `codec:"cursor,omitempty" doc:"the cursor of the next page; absent = this was the last page"`
}

// StreamListed is a stream in the list.
type StreamListed struct {
	Stream     string        `codec:"stream" doc:"the stream"`
	Length     int64         `codec:"length" doc:"messages in the stream, acknowledged ones included"`
	Delayed    int64         `codec:"delayed" doc:"delayed messages that are not yet added to the stream"`
	Dead       int64         `codec:"dead" doc:"dead letters"`
	Trimmed    int64         `codec:"trimmed" doc:"messages that were deleted while a group had them delivered and not acknowledged, since the stream was first used"`
	Groups     []StreamGroup `codec:"groups" doc:"its groups, those that are furthest behind first; at most 8"`
	MoreGroups int64         `codec:"more_groups,omitempty" doc:"how many more groups it has"`
}
