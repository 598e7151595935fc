package api

// The stream's methods.
var (
	StreamPublish = define[StreamPublishParams, StreamPublishResult](Spec{
		Name: "stream.publish", Since: "0.1.0",
		Summary: "Adds a message to the end of a stream, or later with delay_ms.",
	})
	StreamPublishMany = define[StreamPublishManyParams, StreamPublishManyResult](Spec{
		Name: "stream.publish_many", Since: "0.1.0",
		Summary: "Adds messages to the end of a stream, in their order. Each has its own outcome.",
	})
	StreamSubscribe = define[StreamSubscribeParams, StreamSubscribeResult](Spec{
		Name: "stream.subscribe", Since: "0.1.0",
		Summary: "Has this connection sent the messages of a group as stream.message, up to prefetch that it has not acknowledged. " +
			"The group is made if there is none.",
	})
	StreamUnsubscribe = define[StreamUnsubscribeParams, StreamUnsubscribeResult](Spec{
		Name: "stream.unsubscribe", Idempotent: true, Since: "0.1.0",
		Summary: "Ends a subscription. Messages that were sent stay this connection's until they are acknowledged or it closes.",
	})
	StreamFetch = define[StreamFetchParams, StreamFetchResult](Spec{
		Name: "stream.fetch", Since: "0.1.0",
		Summary: "Takes messages of a group, at once or within wait_ms. The group is made if there is none.",
	})
	StreamAck = define[StreamMessageParams, StreamAckResult](Spec{
		Name: "stream.ack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Ends the delivery of a message that was dealt with: the group is not given it again.",
	})
	StreamNack = define[StreamNackParams, StreamNackResult](Spec{
		Name: "stream.nack", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Ends the delivery of a message that was not dealt with: it is delivered again after delay_ms, " +
			"or moved to the dead letters after its last attempt.",
	})
	StreamExtend = define[StreamMessageParams, StreamExtendResult](Spec{
		Name: "stream.extend", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Starts the visibility timeout of a message again. Those bound to the session are extended by the sidecar.",
	})
	StreamList = define[StreamListParams, StreamListResult](Spec{
		Name: "stream.list", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the streams that there are, with what their groups are behind, a page at a time, in no order. " +
			"What changes meanwhile may be missing or be there still.",
	})
	StreamStats = define[StreamStatsParams, StreamStatsResult](Spec{
		Name: "stream.stats", Idempotent: true, Since: "0.1.0",
		Summary: "Counts the messages of a stream and, of each group, what is not delivered and not acknowledged.",
	})
	StreamGroups = define[StreamParams, StreamGroupsResult](Spec{
		Name: "stream.groups", Idempotent: true, Since: "0.1.0",
		Summary: "Lists the groups of a stream and their consumers. A consumer is a pod.",
	})
	StreamRead = define[StreamReadParams, StreamReadResult](Spec{
		Name: "stream.read", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Lists messages of a stream, the oldest first, without a group: nothing is taken from anybody.",
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
		Summary: "A message for a subscription of this connection: acknowledge it by stream.ack or stream.nack.",
	})
	StreamLost = defineEvent[LostParams](Spec{
		Name: "stream.lost", Since: "0.1.0",
		Summary: "A message is no longer this connection's: token is its id, name the stream, a colon and the group, in which " +
			"% { } : and control bytes are written as %XX. It is delivered again, or was acknowledged or trimmed.",
	})
)

// StartNew is a start of groups: with the messages that are published from now on.
const StartNew = "new"

// StreamParams name a stream.
type StreamParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
}

// StreamPublishParams are one message.
type StreamPublishParams struct {
	Stream   string            `codec:"stream" required:"true" doc:"the stream"`
	Body     []byte            `codec:"body,omitempty" maxlen:"262144" doc:"any bytes, at most 256 KiB"`
	Fields   map[string]string `codec:"fields,omitempty" maxlen:"262144" doc:"texts by name, at most 256 KiB together, beside the body or in its place"`
	DedupeID string            `codec:"dedupe_id,omitempty" doc:"a message with the same one, published within dedupe_ms before, is not published again"`
	DedupeMS int64             `codec:"dedupe_ms,omitempty" default:"300000" min:"1000" max:"86400000" doc:"milliseconds for which dedupe_id is remembered"`
	DelayMS  int64             `codec:"delay_ms,omitempty" default:"0" min:"0" max:"2592000000" doc:"milliseconds until it is added to the stream"`
	MaxLen   int64             `codec:"maxlen,omitempty" default:"0" min:"0" max:"1000000000" doc:"about how many messages the stream keeps, the newest, when this one is added; a few more may stay; 0 = all"`
}

// StreamPublishResult says what became of a message.
type StreamPublishResult struct {
	Published bool   `codec:"published" doc:"it was added or will be; else its dedupe_id was known"`
	ID        string `codec:"id,omitempty" doc:"its id in the stream; of a duplicate that of the first; absent of a delayed one"`
	DueAtMS   int64  `codec:"due_at_ms,omitempty" doc:"when a delayed message is added, by the Redis server's clock, Unix milliseconds"`
	Replayed  bool   `codec:"replayed,omitempty" doc:"the answer of an earlier call with the same request id"`
}

// StreamPublishManyParams are messages of one stream.
type StreamPublishManyParams struct {
	Stream   string             `codec:"stream" required:"true" doc:"the stream"`
	Messages []StreamNewMessage `codec:"messages" required:"true" doc:"1 to 256 messages, at most 768 KiB together"`
	MaxLen   int64              `codec:"maxlen,omitempty" default:"0" min:"0" max:"1000000000" doc:"as of stream.publish"`
}

// StreamNewMessage is one of several messages to be published.
type StreamNewMessage struct {
	Body     []byte            `codec:"body,omitempty" maxlen:"262144" doc:"as of stream.publish"`
	Fields   map[string]string `codec:"fields,omitempty" maxlen:"262144" doc:"as of stream.publish"`
	DedupeID string            `codec:"dedupe_id,omitempty" doc:"as of stream.publish"`
	DedupeMS int64             `codec:"dedupe_ms,omitempty" default:"300000" min:"1000" max:"86400000" doc:"as of stream.publish"`
	DelayMS  int64             `codec:"delay_ms,omitempty" default:"0" min:"0" max:"2592000000" doc:"as of stream.publish"`
}

// StreamPublishManyResult has the outcome of each message.
type StreamPublishManyResult struct {
	Results []StreamPublished `codec:"results" doc:"one for each message, in their order"`
}

// StreamPublished is the outcome of one of several messages.
type StreamPublished struct {
	Published bool       `codec:"published" doc:"as of stream.publish"`
	ID        string     `codec:"id,omitempty" doc:"as of stream.publish"`
	DueAtMS   int64      `codec:"due_at_ms,omitempty" doc:"as of stream.publish"`
	Error     *ItemError `codec:"error,omitempty" doc:"why it failed; the others are not affected"`
}

// StreamSubscribeParams say which messages are delivered, and how.
type StreamSubscribeParams struct {
	Stream        string `codec:"stream" required:"true" doc:"the stream"`
	Group         string `codec:"group" required:"true" doc:"the group of consumers; each message goes to one of them. The newest subscription or fetch of a pod sets visibility_ms and max_deliveries for all of the group in this pod"`
	Prefetch      int64  `codec:"prefetch,omitempty" default:"16" min:"1" max:"1000" doc:"how many messages this subscription may have unacknowledged"`
	MaxDeliveries int64  `codec:"max_deliveries,omitempty" default:"5" min:"1" max:"1000" doc:"a message that was delivered so often and not acknowledged is moved to the dead letters"`
	VisibilityMS  int64  `codec:"visibility_ms,omitempty" default:"60000" min:"100" max:"43200000" doc:"milliseconds after which a message is delivered to another consumer, unless it is acknowledged or extended"`
	Bind          string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar extends messages while this connection lives; ttl = they last visibility_ms unless extended. Either way they are delivered again at once when it closes"`
	Start         string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"where a group begins that is made by this: first = with the oldest message; new = with those published from now on"`
	Rule          string `codec:"rule,omitempty" doc:"with key: a message is delivered only when this rule admits its key. Messages of other keys pass it by; those of one key go one at a time, in their order. The newest subscription or fetch of a pod sets it for all of the group in this pod"`
	Key           string `codec:"key,omitempty" doc:"with rule: the field of messages that has the key, such as host. All subscriptions and fetches of a group name the same; a message that has no such field is moved to the dead letters"`
}

// StreamSubscribeResult names the subscription.
type StreamSubscribeResult struct {
	Subscription string `codec:"subscription" doc:"the subscription, for stream.unsubscribe; its messages name it"`
	Created      bool   `codec:"created" doc:"the group was made"`
}

// StreamUnsubscribeParams name a subscription.
type StreamUnsubscribeParams struct {
	Subscription string `codec:"subscription" required:"true" doc:"what stream.subscribe answered"`
}

// StreamUnsubscribeResult says what was found.
type StreamUnsubscribeResult struct {
	Unsubscribed bool `codec:"unsubscribed" doc:"the subscription was this connection's"`
}

// StreamFetchParams say which messages to take.
type StreamFetchParams struct {
	Stream        string `codec:"stream" required:"true" doc:"the stream"`
	Group         string `codec:"group" required:"true" doc:"the group of consumers"`
	Count         int64  `codec:"count,omitempty" default:"1" min:"1" max:"256" doc:"how many messages at most; fewer come if together they pass 512 KiB"`
	WaitMS        int64  `codec:"wait_ms,omitempty" default:"0" min:"0" max:"60000" doc:"milliseconds to wait for the first, within the call's deadline"`
	MaxDeliveries int64  `codec:"max_deliveries,omitempty" default:"5" min:"1" max:"1000" doc:"as of stream.subscribe"`
	VisibilityMS  int64  `codec:"visibility_ms,omitempty" default:"60000" min:"100" max:"43200000" doc:"as of stream.subscribe"`
	Bind          string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"as of stream.subscribe; with ttl messages also outlive this connection"`
	Start         string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"as of stream.subscribe"`
	Rule          string `codec:"rule,omitempty" doc:"as of stream.subscribe"`
	Key           string `codec:"key,omitempty" doc:"as of stream.subscribe"`
}

// StreamFetchResult has the messages.
type StreamFetchResult struct {
	Messages []StreamMessage `codec:"messages" doc:"the messages; none when there were none in time"`
}

// StreamMessage is one delivery of a message.
type StreamMessage struct {
	Subscription  string            `codec:"subscription,omitempty" doc:"what stream.subscribe answered; absent in the result of stream.fetch"`
	Stream        string            `codec:"stream" doc:"the stream"`
	Group         string            `codec:"group" doc:"the group"`
	ID            string            `codec:"id" doc:"its id in the stream"`
	Body          []byte            `codec:"body,omitempty" doc:"its body"`
	Fields        map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Attempt       int64             `codec:"attempt" doc:"how often it has been delivered, from 1"`
	PublishedAtMS int64             `codec:"published_at_ms" doc:"when it was added to the stream, by the Redis server's clock, Unix milliseconds"`
	Traceparent   string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher, to be linked to"`
}

// StreamMessageParams name a message that was delivered to a group.
type StreamMessageParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Group  string `codec:"group" required:"true" doc:"the group"`
	ID     string `codec:"id" required:"true" doc:"the message"`
}

// StreamAckResult says what was found.
type StreamAckResult struct {
	Acked bool `codec:"acked" doc:"the group is not given it again; false = it was acknowledged before, is a dead letter, or never was the group's"`
}

// StreamNackParams name a message that was not dealt with.
type StreamNackParams struct {
	Stream  string `codec:"stream" required:"true" doc:"the stream"`
	Group   string `codec:"group" required:"true" doc:"the group"`
	ID      string `codec:"id" required:"true" doc:"the message"`
	DelayMS int64  `codec:"delay_ms,omitempty" default:"-1" min:"-1" max:"86400000" doc:"milliseconds until it is delivered again; -1 = 1 s after the first attempt, doubled with each, at most 5 min"`
	Dead    bool   `codec:"dead,omitempty" doc:"it is moved to the dead letters at once"`
	Reason  string `codec:"reason,omitempty" doc:"why, for the dead letter"`
}

// StreamNackResult says what became of the message.
type StreamNackResult struct {
	Nacked  bool  `codec:"nacked" doc:"it was waiting for an ack; else nothing was done"`
	Dead    bool  `codec:"dead" doc:"it is a dead letter now"`
	DelayMS int64 `codec:"delay_ms" doc:"milliseconds until it is delivered again; 0 = at once, or it is a dead letter"`
}

// StreamExtendResult says what was found.
type StreamExtendResult struct {
	Extended bool   `codec:"extended" doc:"the message is this pod's for visibility_ms more"`
	Reason   string `codec:"reason" enum:"extended,not_pending,taken" doc:"what was found; not_pending = it was acknowledged, or deleted; taken = another pod has it"`
}

// StreamStatsParams name a stream.
type StreamStatsParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Group  string `codec:"group,omitempty" doc:"this group alone"`
}

// StreamStatsResult are counts: those of the stream of one instant, and those of each group.
type StreamStatsResult struct {
	Length  int64         `codec:"length" doc:"messages in the stream, acknowledged ones too"`
	Delayed int64         `codec:"delayed" doc:"messages that are not due"`
	Dead    int64         `codec:"dead" doc:"dead letters"`
	Trimmed int64         `codec:"trimmed" doc:"messages that were deleted before a group that had been given them acknowledged them, since the stream was first used"`
	Groups  []StreamGroup `codec:"groups" doc:"its groups, sorted by name"`
}

// StreamGroup is the state of one group.
type StreamGroup struct {
	Group           string `codec:"group" doc:"the group"`
	Lag             int64  `codec:"lag" doc:"messages that it has not been given; -1 = Redis does not know, and they are too many to be counted"`
	Pending         int64  `codec:"pending" doc:"messages that it was given and has not acknowledged"`
	Retrying        int64  `codec:"retrying" doc:"those of them that wait for their delay after stream.nack"`
	Parked          int64  `codec:"parked,omitempty" doc:"those that wait for the limit of their key, or for the one before it, where the group delivers by key; they are neither lag nor pending"`
	Consumers       int64  `codec:"consumers" doc:"pods that take part"`
	OldestPendingMS int64  `codec:"oldest_pending_ms" doc:"milliseconds since the oldest of those pending was published; 0 when there is none"`
	LastDeliveredID string `codec:"last_delivered_id" doc:"the newest message that it was given"`
}

// StreamGroupsResult lists groups.
type StreamGroupsResult struct {
	Groups []StreamGroupDetail `codec:"groups" doc:"its groups, sorted by name"`
}

// StreamGroupDetail is a group and its consumers.
type StreamGroupDetail struct {
	Group     string           `codec:"group" doc:"the group"`
	Consumers []StreamConsumer `codec:"consumers" doc:"pods that take part, sorted by name"`
}

// StreamConsumer is a pod, as part of a group.
type StreamConsumer struct {
	Name    string `codec:"name" doc:"the pod"`
	Pending int64  `codec:"pending" doc:"messages that it was given and has not acknowledged"`
	IdleMS  int64  `codec:"idle_ms" doc:"milliseconds since it last did anything"`
}

// StreamReadParams say which messages to list.
type StreamReadParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	After  string `codec:"after,omitempty" doc:"only those after this message: next of the answer before"`
	Start  string `codec:"start,omitempty" default:"first" enum:"first,new" doc:"where to begin without after: first = with the oldest message; new = with those that are published from now on, so that this call lists none"`
	Count  int64  `codec:"count,omitempty" default:"20" min:"1" max:"256" doc:"how many at most; fewer come if together they pass 512 KiB"`
}

// StreamReadResult lists messages.
type StreamReadResult struct {
	Messages []StreamEntry `codec:"messages" doc:"the messages; acknowledged ones too"`
	Next     string        `codec:"next" doc:"for after of the next call, also when nothing was listed"`
	More     bool          `codec:"more" doc:"others follow already"`
}

// StreamEntry is a message in its stream.
type StreamEntry struct {
	ID            string            `codec:"id" doc:"its id in the stream"`
	Body          []byte            `codec:"body,omitempty" doc:"its body"`
	Fields        map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Group         string            `codec:"group,omitempty" doc:"the only group that it is for, of one that stream.redrive moved back"`
	PublishedAtMS int64             `codec:"published_at_ms" doc:"when it was added to the stream, by the Redis server's clock, Unix milliseconds"`
	Traceparent   string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher"`
}

// StreamDeadParams say which dead letters to list.
type StreamDeadParams struct {
	Stream string `codec:"stream" required:"true" doc:"the stream"`
	Count  int64  `codec:"count,omitempty" default:"20" min:"1" max:"256" doc:"how many at most; fewer come if together they pass 512 KiB"`
	After  string `codec:"after,omitempty" doc:"only those after this one: next of the answer before"`
}

// StreamDeadResult lists dead letters.
type StreamDeadResult struct {
	Letters []StreamDeadLetter `codec:"letters" doc:"the dead letters"`
	Next    string             `codec:"next,omitempty" doc:"for after; absent when there are no more"`
}

// StreamDeadLetter is a message that a group failed to process.
type StreamDeadLetter struct {
	ID          string            `codec:"id" doc:"the dead letter, for stream.redrive and stream.trim"`
	MessageID   string            `codec:"message_id" doc:"the id that the message had in the stream"`
	Group       string            `codec:"group" doc:"the group that failed"`
	Attempts    int64             `codec:"attempts" doc:"how often it was delivered"`
	Reason      string            `codec:"reason" doc:"why: what stream.nack said, or max_deliveries"`
	DeadAtMS    int64             `codec:"dead_at_ms" doc:"when it was moved, by the Redis server's clock, Unix milliseconds"`
	Body        []byte            `codec:"body,omitempty" doc:"its body"`
	Fields      map[string]string `codec:"fields,omitempty" doc:"its fields"`
	Traceparent string            `codec:"traceparent,omitempty" doc:"the W3C trace context of its publisher"`
}

// StreamRedriveParams say which dead letters to move back.
type StreamRedriveParams struct {
	Stream string   `codec:"stream" required:"true" doc:"the stream"`
	IDs    []string `codec:"ids,omitempty" doc:"the dead letters, at most 256"`
	Count  int64    `codec:"count,omitempty" default:"0" min:"0" max:"256" doc:"in place of ids: so many, the oldest first"`
}

// StreamRedriveResult says how many were moved.
type StreamRedriveResult struct {
	Redriven int64 `codec:"redriven" doc:"dead letters that are back in the stream"`
	Left     int64 `codec:"left" doc:"dead letters that are left"`
	Replayed bool  `codec:"replayed,omitempty" doc:"the answer of an earlier call with the same request id"`
}

// StreamTrimParams say what to delete. Exactly one of maxlen, older_ms and ids is given.
type StreamTrimParams struct {
	Stream  string   `codec:"stream" required:"true" doc:"the stream"`
	Dead    bool     `codec:"dead,omitempty" doc:"of its dead letters"`
	MaxLen  *int64   `codec:"maxlen,omitempty" min:"0" max:"1000000000" doc:"keep the newest so many"`
	OlderMS *int64   `codec:"older_ms,omitempty" min:"0" max:"31536000000" doc:"delete those that were added longer ago, in milliseconds"`
	IDs     []string `codec:"ids,omitempty" doc:"delete these, at most 256"`
}

// StreamTrimResult says how many were deleted.
type StreamTrimResult struct {
	Deleted int64 `codec:"deleted" doc:"messages that were deleted"`
	Left    int64 `codec:"left" doc:"messages that are left"`
}

// StreamListParams say where to go on.
type StreamListParams struct {
	Cursor string `codec:"cursor,omitempty" doc:"the cursor of the page before; absent = from the start"`
	Count  int64  `codec:"count,omitempty" default:"100" min:"1" max:"1000" doc:"about how many to list"`
	State  string `codec:"state,omitempty" enum:"behind,dead" doc:"behind = only those with a group that has messages left to be given or acknowledged; dead = only those with dead letters; absent = all"`
}

// The states by which stream.list chooses.
const (
	StreamBehind      = "behind"
	StreamDeadLetters = "dead"
)

// StreamListResult is one page.
type StreamListResult struct {
	Streams []StreamListed `codec:"streams" doc:"those of this page; it may have none and not be the last"`
	Cursor  string         `codec:"cursor,omitempty" doc:"where the next page begins; absent = this was the last"`
}

// StreamListed is one stream.
type StreamListed struct {
	Stream     string        `codec:"stream" doc:"the stream"`
	Length     int64         `codec:"length" doc:"messages in the stream, acknowledged ones too"`
	Delayed    int64         `codec:"delayed" doc:"messages that are not due"`
	Dead       int64         `codec:"dead" doc:"dead letters"`
	Trimmed    int64         `codec:"trimmed" doc:"messages that were deleted before a group that had been given them acknowledged them, since the stream was first used"`
	Groups     []StreamGroup `codec:"groups" doc:"its groups, those first that are behind most; at most 8"`
	MoreGroups int64         `codec:"more_groups,omitempty" doc:"how many more groups it has"`
}
