package httplimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// problem is the body of a response that the next handler did not write (RFC 9457).
type problem struct {
	Type         string   `json:"type"`
	Title        string   `json:"title"`
	Status       int      `json:"status"`
	Detail       string   `json:"detail"`
	Rule         string   `json:"rule,omitempty"`
	DeniedBy     string   `json:"denied_by,omitempty"`
	RetryAfterMS *int64   `json:"retry_after_ms,omitempty"`
	Violated     []string `json:"violated-policies,omitempty"`
}

const (
	// quotaExceeded and its title are of draft-ietf-httpapi-ratelimit-headers.
	quotaExceeded      = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	quotaExceededTitle = "Request cannot be satisfied as assigned quota has been exceeded"
	// masked is the text for clients about an internal error.
	masked = "the request could not be checked against its limit"
)

// faultStatus is 503 for a fault that may pass: Redis is unreachable or refuses and the rule
// fails closed, or the sidecar drains, is overloaded or is not running. Any other fault is
// one of the sidecar or of the program, for example an unknown rule.
func faultStatus(err error) int {
	var answer *api.Error
	if errors.As(err, &answer) && !answer.Code.Retryable() {
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable
}

// plainProblem is a problem without a type: its status explains it.
func plainProblem(status int, detail string) problem {
	return problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// refusal is the problem of a refused request.
func refusal(d Decision) problem {
	p := plainProblem(http.StatusTooManyRequests, reasons[d.DeniedBy])
	if d.DeniedBy == "" || d.DeniedBy == "limit" {
		p.Type, p.Title, p.Violated = quotaExceeded, quotaExceededTitle, []string{policy(d)}
		p.Detail = "the limit " + d.Band + " is used up"
	}
	p.Rule, p.DeniedBy, p.RetryAfterMS = d.Rule, d.DeniedBy, &d.RetryAfterMS
	switch {
	case d.RetryAfterMS < 0:
		p.Detail += "; trying again is of no use"
	case d.RetryAfterMS > 0:
		p.Detail += fmt.Sprintf("; try again in %d s", seconds(d.RetryAfterMS))
	}
	return p
}

// reasons are the texts for every denied_by except limit.
var reasons = map[string]string{
	"pause":       "requests are paused",
	"delay":       "it is too soon after the last request",
	"concurrency": "too many requests are under way",
	"deny_list":   "requests of this caller are refused",
}

func (p problem) write(w http.ResponseWriter) {
	b, err := json.Marshal(p)
	if err != nil {
		b = []byte("{}") // cannot happen: strings and numbers always encode
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(b, '\n')) // an error means that the client is gone
}
