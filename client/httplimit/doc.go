// Package httplimit applies Coxswain's rate limits to net/http, on both sides: a Transport
// asks before each request that a program sends, and a Handler before each request that it
// serves. A limit is selected by the name of a rule of the sidecar, so its figures change
// without a build.
//
// Its invariant: a request is sent, or reaches the next handler, only after the sidecar
// allowed it, or if the sidecar could not be asked and FailOpen is set. The permit of a
// grant under max_concurrent is released once, when the body of the response has ended or
// the handler has returned.
//
// The package makes no decisions, keeps no state between requests, and trusts no header
// except those that Callers names.
//
// A crawler, polite to each host across all pods:
//
//	t := httplimit.NewTransport(c, httplimit.TransportOptions{Rule: "crawl", Wait: 10 * time.Second})
//	hc := &http.Client{Transport: t}
//	resp, err := hc.Get("https://example.com/")
//	if errors.Is(err, client.ErrLimited) { ... } // later than Wait, paused, or refused for good
//
// A server that limits each of its callers:
//
//	limit := httplimit.Handler(c, httplimit.HandlerOptions{Rule: "api"})
//	http.ListenAndServe(":8080", limit(mux))
//
// # Reports of a Transport
//
// Each response is reported (ratelimit.report) with its status, the time to its headers and
// its Retry-After, in seconds or as a date (RFC 9110, 10.2.3). The report is made before
// RoundTrip returns. So when a caller sees a 429, its key is paused for every pod, and the
// next request to that host is refused with DeniedBy "pause". While a body is still to
// come the report does not name the grant, because that would release its permit.
// ratelimit.done releases it when the body was read to its end, has failed or was closed.
// A response without a body is reported with its grant, which releases the permit at once.
// Close every body, as net/http demands: otherwise the permit is held for as long as the
// connection of the client to the sidecar.
//
// A request that failed is not reported, because it has no status; its permit is released.
// If it was certainly not sent, because no connection could be made, its cost is given
// back too (ratelimit.refund).
//
// # Responses of a Handler
//
//	400  a bad identifier of the caller; application/problem+json (RFC 9457) that names the header
//	429  refused; problem+json with type, title, status, detail, rule, denied_by, retry_after_ms, violated-policies
//	503  the sidecar is unreachable, or Redis is and the rule fails closed; problem+json with a fixed text
//	500  a fault of the sidecar or of the program; problem+json with a fixed text
//
// With FailOpen the request is served instead of a 500, and instead of a 503 unless the rule failed closed.
//
// retry_after_ms is -1 if the request can never be allowed. Every decision, refused or not,
// adds these headers, unless its figures are not those of the limit:
//
//	RateLimit            "rule:band";r=remaining;t=seconds
//	RateLimit-Policy     "rule:band";q=limit;w=seconds
//	X-RateLimit-Limit    the band's limit
//	X-RateLimit-Remaining
//	X-RateLimit-Reset    seconds until the band is unused again, rounded up
//	Retry-After          refusals only: seconds, rounded up; absent if a further attempt cannot succeed
//
// The first two are of draft-ietf-httpapi-ratelimit-headers-10. They describe
// one band, the one that refused, else the one with the least remaining, and name
// it, such as "api:80/10m", so that one name always has one policy. t is the
// smaller of X-RateLimit-Reset and Retry-After, because by the draft Retry-After
// must not be before t. w is left out if the band's period is not a whole
// number of seconds. r may exceed q by a burst. Both headers are lists, so that handlers
// may be nested; X-RateLimit-* are then those of the inner handler.
//
// The headers are left out if a fail mode allowed the request without counting it, if the
// rule is in shadow and would have refused, or if a list of the rule decided.
package httplimit
