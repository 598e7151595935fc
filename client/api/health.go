package api

// HealthGet is the health page as a call.
var HealthGet = define[Nothing, HealthResult](Spec{
	Name: "health.get", Idempotent: true, Since: "0.1.0",
	Summary: "Answers what /readyz?verbose and /livez?verbose do.",
})

// HealthResult is the state of every check.
type HealthResult struct {
	Live  bool `codec:"live" json:"live" doc:"the process and its socket answer"`
	Ready bool `codec:"ready" json:"ready" doc:"it can decide: Redis answers, scripts are loaded, rules are in force"`
	// Degraded goes with Ready only.
	Degraded bool          `codec:"degraded" json:"degraded" doc:"it is ready because readiness.mode is always, and cannot decide: the checks say why"`
	Store    string        `codec:"store" json:"store" doc:"standalone, sentinel, cluster or embedded"`
	Checks   []HealthCheck `codec:"checks" json:"checks" doc:"each check, sorted by name"`
}

// HealthCheck is one line of the health page.
type HealthCheck struct {
	Name   string `codec:"name" json:"name" doc:"the check"`
	OK     bool   `codec:"ok" json:"ok" doc:"it passed"`
	Detail string `codec:"detail" json:"detail" doc:"what was found, and the remedy when it failed"`
	Cause  string `codec:"cause,omitempty" json:"cause,omitempty" doc:"what is wrong, where that is known: as sidecar doctor says it"`
	Fix    string `codec:"fix,omitempty" json:"fix,omitempty" doc:"what to do about it"`
	Docs   string `codec:"docs,omitempty" json:"docs,omitempty" doc:"where that is explained: a page with its section"`
}
