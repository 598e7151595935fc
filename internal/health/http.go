package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/port"
)

// Port is the setting of the health port.
var Port = port.Setting{Path: "http.addr", Flag: "--http", Variable: "COXSWAIN_HTTP_ADDR", Example: ":8086"}

// Handler answers /livez, /readyz, /startupz and /metrics to GET and HEAD.
func Handler(h *Health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", h.answer("live", never(h.live.state)))
	mux.Handle("GET /readyz", h.answer("ready", h.readiness))
	mux.Handle("GET /startupz", h.answer("started", never(h.live.started)))
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing here; try /livez, /readyz, /startupz (each with ?verbose) or /metrics", http.StatusNotFound)
	})
	return mux
}

// never makes a state of one that is never degraded.
func never(state func() (bool, []outcome)) func() (good, degraded bool, found []outcome) {
	return func() (good, degraded bool, found []outcome) {
		good, found = state()
		return good, false, found
	}
}

// answer answers 200 or 503 with a line for people, or with all results if the query is ?verbose.
func (h *Health) answer(what string, state func() (good, degraded bool, found []outcome)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		good, degraded, found := state()
		status := http.StatusOK
		if !good {
			status = http.StatusServiceUnavailable
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.URL.Query().Has("verbose") {
			h.verbose(w, status)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, short(what, good, degraded, found))
	}
}

// short returns ok or the problems, and then the warnings. A check that has failed once is a warning
// until it has failed often enough to make the state bad.
func short(what string, good, degraded bool, found []outcome) string {
	var b strings.Builder
	bad := problems(found, failed)
	if good && !degraded {
		b.WriteString("ok\n")
	} else {
		state := "not " + what
		if degraded {
			state = "degraded"
		}
		for _, p := range bad {
			fmt.Fprintf(&b, "%s: %s\n", state, p)
		}
		bad = nil
	}
	for _, p := range append(bad, problems(found, warned)...) {
		fmt.Fprintf(&b, "warning: %s\n", p)
	}
	return b.String()
}

// verbose answers with the result of health.get as JSON.
func (h *Health) verbose(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(h.Snapshot()) // the peer went away; there is nobody to tell
}
