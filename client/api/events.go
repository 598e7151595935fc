package api

// What is told of the sidecar as it happens.
var (
	EventsSubscribe = define[EventsSubscribeParams, EventsSubscribeResult](Spec{
		Name: "events.subscribe", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Has this connection sent what happens, as notifications named event, until it ends. Again: replaces the kinds.",
	})
	EventsUnsubscribe = define[Nothing, Nothing](Spec{
		Name: "events.unsubscribe", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Ends what events.subscribe began. It is no error when nothing was.",
	})
	EventHappened = defineEvent[EventParams](Spec{
		Name: "event", Since: "0.1.0",
		Summary: "Something happened. Sent after events.subscribe. Refusals and degraded decisions are sampled: " +
			"at most one a second of the same kind, noun, name and reason.",
	})
)

// EventsSubscribeParams say what to be told of.
type EventsSubscribeParams struct {
	Kinds []string `codec:"kinds,omitempty" doc:"the kinds of events to be sent: breaker, degraded, draining, forced, lost, paused, refused, reloaded, resumed; all when there are none"`
}

// EventsSubscribeResult says what this connection is told of.
type EventsSubscribeResult struct {
	Subscribed []string `codec:"subscribed" doc:"the kinds of events that are sent from now on, sorted"`
}

// EventParams are what happened.
type EventParams struct {
	Kind    string `codec:"kind" doc:"breaker = a circuit breaker changed its state; degraded = a fail mode decided; draining = the pod ends; forced = a lock was taken from its holder by hand; lost = a lease was lost; paused = a key was paused; refused = a limit refused; reloaded = the configuration was read again; resumed = a pause was ended. Others may be added"`
	AtMS    int64  `codec:"at_ms" doc:"when, Unix milliseconds by the pod's clock"`
	Noun    string `codec:"noun,omitempty" doc:"what it is about, such as ratelimit or lock; absent for the sidecar itself"`
	Name    string `codec:"name,omitempty" doc:"the rule, the lock, ..."`
	Key     string `codec:"key,omitempty" doc:"whom a limit counts; of one of those that it stands for"`
	Reason  string `codec:"reason,omitempty" doc:"why, in one word"`
	Detail  string `codec:"detail,omitempty" doc:"for people"`
	Count   int64  `codec:"count" doc:"how many alike it stands for, itself included; those after the last one of a burst are told with the next, or never"`
	Dropped int64  `codec:"dropped,omitempty" doc:"how many before it were not sent, since this connection is read too slowly"`
}
