package api

// The methods of sets of seen keys, by which callers do something once.
var (
	SeenReserve = define[SeenReserveParams, SeenReserveResult](Spec{
		Name: "seen.reserve", Since: "0.1.0",
		Summary: "Reserves a key of a set, so that something is done once, such as fetching a URL; or reports that it is done or under way.",
	})
	SeenCommit = define[SeenCommitParams, SeenCommitResult](Spec{
		Name: "seen.commit", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Records that what was reserved is done: for keep_ms no caller can reserve the key.",
	})
	SeenRelease = define[SeenReleaseParams, SeenReleaseResult](Spec{
		Name: "seen.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives up a reservation: the next caller that asks can reserve the key.",
	})
	SeenLost = defineEvent[LostParams](Spec{
		Name: "seen.lost", Since: "0.1.0",
		Summary: "This connection has lost a reservation; name is the set and the key. Another caller may now reserve the key.",
	})
)

// SeenReserveParams select a key of a set.
type SeenReserveParams struct {
	Set   string `codec:"set" required:"true" doc:"the set"`
	Key   string `codec:"key" required:"true" doc:"what is to be done once, such as a URL or its hash"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds that the reservation lasts unless it is renewed or committed"`
	Bind  string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = the sidecar renews it while this connection is open and gives it up when the connection closes; ttl = it does neither"`
}

// SeenReserveResult reports whether the caller has the reservation.
type SeenReserveResult struct {
	Reserved     bool   `codec:"reserved" doc:"the caller has the reservation: do it, then commit or release it"`
	State        string `codec:"state" enum:"new,reserved,done" doc:"the state of the key before the call: new = not reserved; reserved = reserved by another caller; done = committed"`
	Token        string `codec:"token,omitempty" doc:"the reservation's token, for seen.commit and seen.release"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when reserved; else milliseconds until the other reservation ends unless it is renewed, or until the committed key is forgotten"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the call repeats an earlier one with the same request id, and this is about the reservation of that one"`
	Reason       string `codec:"reason,omitempty" enum:"released,expired" doc:"how the reservation of a repeated call ended"`
}

// SeenCommitParams select a reservation.
type SeenCommitParams struct {
	Set    string `codec:"set" required:"true" doc:"the set"`
	Key    string `codec:"key" required:"true" doc:"the key"`
	Token  string `codec:"token" required:"true" doc:"the token that seen.reserve returned"`
	KeepMS int64  `codec:"keep_ms,omitempty" default:"86400000" min:"1" max:"31622400000" doc:"milliseconds to remember that the key is done, at most 366 days"`
}

// SeenCommitResult reports the outcome.
type SeenCommitResult struct {
	Committed bool   `codec:"committed" doc:"the key is recorded as done"`
	Reason    string `codec:"reason" enum:"committed,expired" doc:"the outcome; expired = the reservation had ended; another caller may have done it, or may do it now"`
}

// SeenReleaseParams select a reservation.
type SeenReleaseParams struct {
	Set   string `codec:"set" required:"true" doc:"the set"`
	Key   string `codec:"key" required:"true" doc:"the key"`
	Token string `codec:"token" required:"true" doc:"the token that seen.reserve returned"`
}

// SeenReleaseResult reports the outcome.
type SeenReleaseResult struct {
	Released bool   `codec:"released" doc:"the reservation belonged to this token and is given up"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"the outcome; expired = the lease had ended"`
}
