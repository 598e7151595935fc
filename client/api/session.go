package api

// The metadata keys: any params map may hold them, whatever the method. Keys
// that start with an underscore are never refused; those not listed are ignored.
const (
	// MetaTraceparent and MetaTracestate carry the caller's W3C trace context.
	MetaTraceparent = "_traceparent"
	MetaTracestate  = "_tracestate"
	// MetaDeadlineMS is the time left for this call, in milliseconds.
	MetaDeadlineMS = "_deadline_ms"
	// MetaRequestID (str, 1 to 64 bytes) makes a repeated call run once.
	MetaRequestID = "_request_id"
)

// MaxRequestIDBytes bounds MetaRequestID.
const MaxRequestIDBytes = 64

// MaxDeadlineMS caps MetaDeadlineMS: the stored reply of a request id lives longer than
// any deadline, and that bound is what makes it safe.
const MaxDeadlineMS = 70_000

// ParamWaitMS is the parameter of every method that can wait for what it asks
// for. A call with it is counted as waiting, against Limits.MaxWaiting.
const ParamWaitMS = "wait_ms"

// DefaultDeadlineMS is the time for a call that names none, plus its wait_ms.
const DefaultDeadlineMS = 5_000

// The session's methods, all optional for a client.
var (
	SessionHello = define[HelloParams, HelloResult](Spec{
		Name: "session.hello", Idempotent: true, Since: "0.1.0",
		Summary: "Introduces the client and learns what the sidecar is and allows. Optional.",
	})
	SessionPing = define[Nothing, PingResult](Spec{
		Name: "session.ping", Idempotent: true, Since: "0.1.0",
		Summary: "Answers at once, without Redis.",
	})
	SessionDrain = define[DrainParams, DrainResult](Spec{
		Name: "session.drain", Idempotent: true, Admin: true, Since: "0.1.0",
		Summary: "Tells every client that holds or follows something that the pod ends (session.draining). Calls go on.",
	})
	SessionDraining = defineEvent[DrainingParams](Spec{
		Name: "session.draining", Since: "0.1.0",
		Summary: "The pod ends. Sent once to a connection that holds or follows something, or comes to while draining.",
	})
)

// ErrorsMap is the value of HelloParams.Errors that asks for errors as maps.
const ErrorsMap = "map"

// HelloParams introduce a client. Holders of locks are shown by these names.
type HelloParams struct {
	Client   string `codec:"client,omitempty" maxlen:"128" doc:"the client program or library"`
	Version  string `codec:"version,omitempty" maxlen:"128" doc:"its version"`
	Instance string `codec:"instance,omitempty" maxlen:"128" doc:"which one it is, such as the pod and the process"`
	Errors   string `codec:"errors,omitempty" default:"list" enum:"list,map" doc:"the form of errors on this connection: list = [kind, text], map = {code, message, retryable, retry_after_ms?, details?}"`
}

// HelloResult says what the sidecar is and allows.
type HelloResult struct {
	Server   string   `codec:"server" doc:"the server's name, coxswain"`
	Version  string   `codec:"version" doc:"the sidecar's version"`
	Protocol int64    `codec:"protocol" doc:"the version of this protocol"`
	Session  string   `codec:"session" doc:"the id of this connection"`
	Limits   Limits   `codec:"limits" doc:"what the sidecar accepts on a connection"`
	Methods  []string `codec:"methods" doc:"the names of all methods, sorted"`
	NowAtMS  int64    `codec:"now_at_ms" doc:"the pod's clock, Unix milliseconds"`
}

// Limits are the bounds of one connection, and of all together.
type Limits struct {
	MaxFrameBytes  int64 `codec:"max_frame_bytes" doc:"the longest frame, in bytes"`
	MaxDepth       int64 `codec:"max_depth" doc:"the deepest nesting of a frame"`
	MaxElements    int64 `codec:"max_elements" doc:"the most elements of one array or map"`
	MaxInflight    int64 `codec:"max_inflight" doc:"running calls on a connection"`
	MaxWaiting     int64 `codec:"max_waiting" doc:"waiting calls on a connection"`
	MaxConnections int64 `codec:"max_connections" doc:"connections to the sidecar"`
	// The last two are shared by all connections.
	MaxTotalBytes   int64 `codec:"max_total_bytes" doc:"bytes that all connections may hold together: half in unfinished frames and unread replies, half in calls in flight"`
	MaxTotalWaiting int64 `codec:"max_total_waiting" doc:"waiting calls of all connections together"`
}

// DrainParams say how long the pod still has.
type DrainParams struct {
	DeadlineMS int64 `codec:"deadline_ms,omitempty" default:"30000" min:"1" max:"86400000" doc:"milliseconds until the pod is killed; a later call changes nothing"`
}

// DrainResult says what clients were told.
type DrainResult struct {
	Draining     bool  `codec:"draining" doc:"always true"`
	DeadlineAtMS int64 `codec:"deadline_at_ms" doc:"when the pod is killed, Unix milliseconds by the pod's clock, as first told"`
	Connections  int64 `codec:"connections" doc:"connections open now, this one included"`
}

// DrainingParams say until when a client has time.
type DrainingParams struct {
	DeadlineAtMS int64 `codec:"deadline_at_ms" doc:"when the pod is killed, Unix milliseconds by the pod's clock"`
}

// PingResult carries the pod's clock.
type PingResult struct {
	NowAtMS int64 `codec:"now_at_ms" doc:"the pod's clock, Unix milliseconds"`
}
