package api

// The methods and the notification by which a client follows what happens in the sidecar.
var (
	EventsSubscribe = define[EventsSubscribeParams, EventsSubscribeResult](Spec{
		Name: "events.subscribe", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Sends this connection a notification named event for each event of the given kinds, until it closes. A further call replaces the kinds.",
	})
	EventsUnsubscribe = define[Nothing, Nothing](Spec{
		Name: "events.unsubscribe", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Ends the subscription of events.subscribe. Without one it does nothing, and is not an error.",
	})
	EventHappened = defineEvent[EventParams](Spec{
		Name: "event", Since: "0.1.0",
		Summary: "An event, sent after events.subscribe. Refusals and degraded decisions are sampled: " +
			"at most one a second is sent for the same kind, noun, name and reason.",
	})
)

// EventsSubscribeParams select the kinds of events.
type EventsSubscribeParams struct {
	Kinds []string `codec:"kinds,omitempty" doc:"the kinds of events to send: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; empty or absent = all"`
}

// EventsSubscribeResult reports the kinds that this connection is sent.
type EventsSubscribeResult struct {
	Subscribed []string `codec:"subscribed" doc:"the kinds of events that are sent from now on, sorted"`
}

// EventParams describe one event, or several similar ones.
type EventParams struct {
	Kind    string `codec:"kind" doc:"breaker = a circuit breaker changed its state; degraded = a fail mode decided a call; draining = the pod is shutting down; forced = a lock was taken from its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused a call; reloaded = the configuration was read again; resumed = a pause was ended. More kinds may be added"`
	AtMS    int64  `codec:"at_ms" doc:"when it happened, Unix milliseconds by the pod's clock"`
	Noun    string `codec:"noun,omitempty" doc:"the noun it concerns, such as ratelimit or lock; absent if it concerns the sidecar itself"`
	Name    string `codec:"name,omitempty" doc:"the name of the rule, the lock, ..."`
	Key     string `codec:"key,omitempty" doc:"the key that the limit counts; if count is above 1, the key of one of these events"`
	Reason  string `codec:"reason,omitempty" doc:"why, in one word"`
	Detail  string `codec:"detail,omitempty" doc:"details as text for people"`
	Count   int64  `codec:"count" doc:"how many events of the same kind, noun, name and reason this notification represents, itself included. Events that come after the last notification of a burst are counted in the next one, if there is one"`
	Dropped int64  `codec:"dropped,omitempty" doc:"how many earlier events were not sent because the client read this connection too slowly"`
}
