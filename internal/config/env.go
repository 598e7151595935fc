package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/nearest"
)

const (
	envPrefix = "COXSWAIN_"
	// EnvSocket is socket.path for the sidecar and the address for every client.
	EnvSocket = "COXSWAIN_SOCKET"
	// EnvConfig names the file, for users that cannot pass --config.
	EnvConfig = "COXSWAIN_CONFIG"
	// envTest is the prefix of the variables that only this project's tests read.
	envTest = "COXSWAIN_TEST_"
)

// serviceLink matches the variables that Kubernetes sets in every pod of a namespace
// that has a Service called coxswain or coxswain-something. They are accepted: if they
// were errors, such a Service would keep every sidecar of its namespace from starting.
var serviceLink = regexp.MustCompile(`^(.+?)_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// environment is the variables COXSWAIN_* of one process, by name.
type environment map[string]string

// newEnvironment skips empty variables, as is done for OTEL_*: charts render an empty
// value for each setting that the user has not set.
func newEnvironment(env []string) environment {
	e := environment{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		value = trimEnd(value)
		if value != "" && strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, envTest) {
			e[name] = value
		}
	}
	return e
}

// apply sets each setting that has a variable, and records the variable's name in from.
func (e environment) apply(all []setting, from map[string]string) Problems {
	var problems Problems
	known := map[string]bool{EnvConfig: true, EnvSocket: true}
	for _, s := range all {
		name := s.variable()
		known[name] = true
		if s.path == socketPath && e[EnvSocket] != "" {
			if long := e[name]; long != "" && long != e[EnvSocket] {
				problems = append(problems, Problem{Where: name, Path: s.path, Message: "says something else than " + EnvSocket + "; set one of them"})
			}
			name = EnvSocket
		}
		value, ok := e[name]
		if !ok {
			continue
		}
		from[s.path] = name
		if err := setText(s.v, value); err != nil {
			problems = append(problems, Problem{Where: name, Path: s.path, Message: err.Error()})
		}
	}
	return append(problems, e.unknown(known)...)
}

// unknown returns a problem for each variable that is not read, so that a typo is not ignored silently.
func (e environment) unknown(known map[string]bool) Problems {
	var problems Problems
	names := slices.Sorted(maps.Keys(known))
	for i, n := range names {
		names[i] = strings.TrimPrefix(n, envPrefix)
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if known[name] || e.isServiceLink(name) {
			continue
		}
		remedy := "`sidecar config print` shows the known ones"
		if meant, ok := nearest.Name(strings.TrimPrefix(name, envPrefix), names); ok {
			remedy = fmt.Sprintf("did you mean %s%s?", envPrefix, meant)
		}
		problems = append(problems, Problem{Where: name, Message: "unknown variable; " + remedy})
	}
	return problems
}

// isServiceLink reports whether name is a service link. It requires the Service's other
// variables too, so that COXSWAIN_HTTP_PORT alone is still reported as a typo.
func (e environment) isServiceLink(name string) bool {
	m := serviceLink.FindStringSubmatch(name)
	return len(m) > 0 && e[m[1]+"_SERVICE_HOST"] != "" && e[m[1]+"_PORT"] != ""
}

// SocketPath returns the path of the socket at which a client with this environment finds its sidecar.
func SocketPath(env []string) string {
	e := newEnvironment(env)
	return cmp.Or(e[EnvSocket], e[EnvSocket+"_PATH"], DefaultSocket)
}
