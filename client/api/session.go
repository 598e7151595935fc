package api

// The metadata keys, which the params map of any method may have. The sidecar ignores
// any other key that starts with an underscore.
const (
	// MetaTraceparent and MetaTracestate are the caller's W3C trace context.
	MetaTraceparent = "_traceparent"
	MetaTracestate  = "_tracestate"
	// MetaDeadlineMS is the time that the call has left, in milliseconds.
	MetaDeadlineMS = "_deadline_ms"
	// MetaRequestID (str, 1 to 64 bytes) identifies the call: a repeated call with the same id runs once.
	MetaRequestID = "_request_id"
)

// MaxRequestIDBytes is the longest MetaRequestID in bytes.
const MaxRequestIDBytes = 64

// MaxDeadlineMS is the longest MetaDeadlineMS; a longer one is cut to it. The stored reply of
// a request id is kept longer than any deadline, so a call that is repeated within its deadline finds it.
const MaxDeadlineMS = 70_000

// ParamWaitMS is the parameter by which every method that can wait is given its time to
// wait. A call that has it counts as waiting, against Limits.MaxWaiting.
const ParamWaitMS = "wait_ms"

// DefaultDeadlineMS is the deadline, to which wait_ms is added, of a call without MetaDeadlineMS.
const DefaultDeadlineMS = 5_000

// The methods and the event of a session. A client need not call any of them.
var (
	SessionHello = define[HelloParams, HelloResult](Spec{
		Name: "session.hello", Idempotent: true, Since: "0.1.0",
		Summary: "Introduces the client, and returns what the sidecar is and what it allows. Optional.",
	})
	SessionPing = define[Nothing, PingResult](Spec{
		Name: "session.ping", Idempotent: true, Since: "0.1.0",
		Summary: "Returns at once, without asking Redis.",
	})
	SessionDrain = define[DrainParams, DrainResult](Spec{
		Name: "session.drain", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Notifies every client that holds a lease or a subscription that the pod is shutting down (session.draining). Calls go on.",
	})
	SessionDraining = defineEvent[DrainingParams](Spec{
		Name: "session.draining", Since: "0.1.0",
		Summary: "The pod is shutting down. Sent once to each connection that holds a lease or a subscription, or gets one while the pod drains.",
	})
)

// ErrorsMap is the value of HelloParams.Errors with which errors are sent as maps.
const ErrorsMap = "map"

// HelloParams introduce a client. Results that name a holder show it by these names.
type HelloParams struct {
	Client   string `codec:"client,omitempty" maxlen:"128" doc:"the client program or library"`
	Version  string `codec:"version,omitempty" maxlen:"128" doc:"its version"`
	Instance string `codec:"instance,omitempty" maxlen:"128" doc:"the instance of the program, such as its pod and process"`
	Errors   string `codec:"errors,omitempty" default:"list" enum:"list,map" doc:"the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?}"`
}

// HelloResult reports what the sidecar is and what it allows.
type HelloResult struct {
	Server   string   `codec:"server" doc:"the server's name, coxswain"`
	Version  string   `codec:"version" doc:"the sidecar's version"`
	Protocol int64    `codec:"protocol" doc:"the version of this protocol"`
	Session  string   `codec:"session" doc:"the id of this connection"`
	Limits   Limits   `codec:"limits" doc:"what the sidecar accepts on a connection"`
	Methods  []string `codec:"methods" doc:"the names of all methods, sorted"`
	NowAtMS  int64    `codec:"now_at_ms" doc:"the pod's clock, Unix milliseconds"`
}

// Limits are the bounds of one connection and of all connections together.
type Limits struct {
	MaxFrameBytes  int64 `codec:"max_frame_bytes" doc:"the longest frame, in bytes"`
	MaxDepth       int64 `codec:"max_depth" doc:"how deeply a frame may be nested"`
	MaxElements    int64 `codec:"max_elements" doc:"the most elements of an array or a map"`
	MaxInflight    int64 `codec:"max_inflight" doc:"the most running calls of a connection"`
	MaxWaiting     int64 `codec:"max_waiting" doc:"the most waiting calls of a connection"`
	MaxConnections int64 `codec:"max_connections" doc:"the most connections to the sidecar"`
	// The last two are shared by all connections.
	MaxTotalBytes   int64 `codec:"max_total_bytes" doc:"the most bytes of memory for all connections together: half for unfinished frames and unread replies, half for calls in flight"`
	MaxTotalWaiting int64 `codec:"max_total_waiting" doc:"the most waiting calls of all connections together"`
}

// DrainParams set how much time the pod has left.
type DrainParams struct {
	DeadlineMS int64 `codec:"deadline_ms,omitempty" default:"30000" min:"1" max:"86400000" doc:"milliseconds until the pod is killed; the first call sets it, later ones do not change it"`
}

// DrainResult reports what clients were notified of.
type DrainResult struct {
	Draining     bool  `codec:"draining" doc:"always true"`
	DeadlineAtMS int64 `codec:"deadline_at_ms" doc:"when the pod is killed, Unix milliseconds by the pod's clock, as the first call set it"`
	Connections  int64 `codec:"connections" doc:"connections open now, this one included"`
}

// DrainingParams are the time that a client has left.
type DrainingParams struct {
	DeadlineAtMS int64 `codec:"deadline_at_ms" doc:"when the pod is killed, Unix milliseconds by the pod's clock"`
}

// PingResult is the pod's clock.
type PingResult struct {
	NowAtMS int64 `codec:"now_at_ms" doc:"the pod's clock, Unix milliseconds"`
}
