package api

// HealthGet returns the health pages as a call.
var HealthGet = define[Nothing, HealthResult](Spec{
	Name: "health.get", Idempotent: true, Since: "0.1.0",
	Summary: "Returns the checks that /readyz?verbose and /livez?verbose show.",
})

// HealthResult is the state of the sidecar and of each check.
type HealthResult struct {
	Live  bool `codec:"live" json:"live" doc:"the process and its socket answer"`
	Ready bool `codec:"ready" json:"ready" doc:"the sidecar can decide calls: Redis answers, scripts are loaded, rules are in force"`
	// Degraded is true only if Ready is.
	Degraded bool          `codec:"degraded" json:"degraded" doc:"the sidecar cannot decide calls, and is ready only because readiness.mode is always; the checks give the cause"`
	Store    string        `codec:"store" json:"store" doc:"standalone, sentinel, cluster or embedded"`
	Checks   []HealthCheck `codec:"checks" json:"checks" doc:"each check, sorted by name"`
}

// HealthCheck is one line of the health page.
type HealthCheck struct {
	Name   string `codec:"name" json:"name" doc:"the check"`
	OK     bool   `codec:"ok" json:"ok" doc:"the check passed"`
	Detail string `codec:"detail" json:"detail" doc:"what the check found; if it failed, with the remedy"`
	Cause  string `codec:"cause,omitempty" json:"cause,omitempty" doc:"what is wrong, if it is known, in the words of sidecar doctor"`
	Fix    string `codec:"fix,omitempty" json:"fix,omitempty" doc:"what to do about it"`
	Docs   string `codec:"docs,omitempty" json:"docs,omitempty" doc:"the page and section that explain it"`
}
