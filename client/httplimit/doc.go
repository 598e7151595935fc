// Package httplimit puts Coxswain's rate limits into net/http, on both sides: a
// Transport asks before each request that a program sends, a Handler before
// each one that it serves. Which limit is asked is said by the name of a rule of
// the sidecar, so that figures change without a build.
//
// Its invariant: a request goes out, or reaches the next handler, only after
// the sidecar let it, or after nobody could be asked and FailOpen is set. What a
// grant holds, the place under max_concurrent, is given back once, when the
// response's body has ended or the handler has returned.
//
// It decides nothing, remembers nothing between requests, and trusts no header
// but those that Callers names.
//
// A crawler, polite to each host across all pods:
//
//	t := httplimit.NewTransport(c, httplimit.TransportOptions{Rule: "crawl", Wait: 10 * time.Second})
//	hc := &http.Client{Transport: t}
//	resp, err := hc.Get("https://example.com/")
//	if errors.Is(err, httplimit.ErrLimited) { ... } // later than Wait, paused, or refused for good
//
// A server that limits each of its callers:
//
//	limit := httplimit.Handler(c, httplimit.HandlerOptions{Rule: "api"})
//	http.ListenAndServe(":8080", limit(mux))
//
// # What a Transport tells
//
// Each response is reported (ratelimit.report) with its status, the time to its
// headers and its Retry-After, in seconds or as a date (RFC 9110, 10.2.3). The
// report is made before RoundTrip returns, so that whoever sees a 429 knows that
// its key is paused for every pod; the next request to that host is then refused
// with DeniedBy "pause". The report does not name the grant while a body is still
// to come: that would free the grant's place. ratelimit.done frees it when the
// body was read to its end, has failed or was closed. A response without a body
// is reported with its grant, which frees the place at once. Bodies must be
// closed, as net/http demands anyway: else the place is held as long as the
// client's connection to the sidecar.
//
// A request that failed is not reported, since there is no status; its place is
// freed. If it certainly never left, because no connection could be made, its cost
// is given back too (ratelimit.refund).
//
// # What a Handler answers
//
//	400  a bad identifier of the caller; application/problem+json (RFC 9457) that names the header
//	429  refused; problem+json with type, title, status, detail, rule, denied_by, retry_after_ms, violated-policies
//	503  the sidecar is away, or Redis is and the rule fails closed; problem+json with a fixed text
//	500  a fault of the sidecar or of the program; problem+json with a fixed text
//
// FailOpen has the request served in place of 500, and of 503 where it was not the rule that failed closed.
//
// retry_after_ms is -1 when the request can never be let through. With every
// decision, refused or not, unless it says nothing of the limit:
//
//	RateLimit            "rule:band";r=remaining;t=seconds
//	RateLimit-Policy     "rule:band";q=limit;w=seconds
//	X-RateLimit-Limit    the band's limit
//	X-RateLimit-Remaining
//	X-RateLimit-Reset    seconds until the band is as if unused, rounded up
//	Retry-After          refusals only: seconds, rounded up; absent when there is no use in trying again
//
// The first two are of draft-ietf-httpapi-ratelimit-headers-10. They are about
// one band, the one that refused, else the one with the least remaining, and name
// it, such as "api:80/10m", so that one name always has one policy. t is the
// seconds of X-RateLimit-Reset or of Retry-After, whichever is sooner: the draft
// wants no Retry-After before t. w is left out when the band's period is no whole
// number of seconds. r may exceed q by a burst. Both are lists, so that handlers
// may be stacked; X-RateLimit-* are then of the inner one.
//
// Nothing is said of a limit when a fail mode let the request through without
// counting, when the rule is in shadow and would have refused, or when a list of
// the rule decided.
package httplimit
