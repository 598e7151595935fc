package api

// The methods by which something is done once.
var (
	SeenReserve = define[SeenReserveParams, SeenReserveResult](Spec{
		Name: "seen.reserve", Since: "0.1.0",
		Summary: "Reserves a key of a set to do something once, such as fetching a URL, or says that it is done or under way.",
	})
	SeenCommit = define[SeenCommitParams, SeenCommitResult](Spec{
		Name: "seen.commit", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Says that what was reserved is done: for keep_ms no one else does it.",
	})
	SeenRelease = define[SeenReleaseParams, SeenReleaseResult](Spec{
		Name: "seen.release", Idempotent: true, Notify: true, Since: "0.1.0",
		Summary: "Gives a reservation up: the next one who asks does it.",
	})
	SeenLost = defineEvent[LostParams](Spec{
		Name: "seen.lost", Since: "0.1.0",
		Summary: "A reservation is no longer this connection's: name is the set and the key. Others may do the same now.",
	})
)

// SeenReserveParams name a key of a set.
type SeenReserveParams struct {
	Set   string `codec:"set" required:"true" doc:"the set"`
	Key   string `codec:"key" required:"true" doc:"what is to be done once, such as a URL or its hash"`
	TTLMS int64  `codec:"ttl_ms,omitempty" default:"30000" min:"100" max:"86400000" doc:"milliseconds until the reservation ends unless renewed or committed"`
	Bind  string `codec:"bind,omitempty" default:"session" enum:"session,ttl" doc:"session = renewed while this connection lives and given up when it closes; ttl = neither"`
}

// SeenReserveResult says whether to do it.
type SeenReserveResult struct {
	Reserved     bool   `codec:"reserved" doc:"do it, then commit or release"`
	State        string `codec:"state" enum:"new,reserved,done" doc:"what it was: new = nobody had it; reserved = someone else does it; done = it was committed"`
	Token        string `codec:"token,omitempty" doc:"for seen.commit and release"`
	RetryAfterMS int64  `codec:"retry_after_ms" doc:"0 when reserved; else milliseconds until the reservation ends unless renewed, or what was committed is forgotten"`
	Replayed     bool   `codec:"replayed,omitempty" doc:"the answer is about an earlier call with the same request id"`
	Reason       string `codec:"reason,omitempty" enum:"released,expired" doc:"what became of a replayed reservation"`
}

// SeenCommitParams name a reservation.
type SeenCommitParams struct {
	Set    string `codec:"set" required:"true" doc:"the set"`
	Key    string `codec:"key" required:"true" doc:"the key"`
	Token  string `codec:"token" required:"true" doc:"what seen.reserve answered"`
	KeepMS int64  `codec:"keep_ms,omitempty" default:"86400000" min:"1" max:"31622400000" doc:"milliseconds to remember it, at most 366 days"`
}

// SeenCommitResult says what was found.
type SeenCommitResult struct {
	Committed bool   `codec:"committed" doc:"it is remembered as done"`
	Reason    string `codec:"reason" enum:"committed,expired" doc:"expired = the reservation had ended; someone else may have done it, or do it now"`
}

// SeenReleaseParams name a reservation.
type SeenReleaseParams struct {
	Set   string `codec:"set" required:"true" doc:"the set"`
	Key   string `codec:"key" required:"true" doc:"the key"`
	Token string `codec:"token" required:"true" doc:"what seen.reserve answered"`
}

// SeenReleaseResult says what was found.
type SeenReleaseResult struct {
	Released bool   `codec:"released" doc:"the reservation was this token's and is given up"`
	Reason   string `codec:"reason" enum:"released,expired" doc:"what was found"`
}
