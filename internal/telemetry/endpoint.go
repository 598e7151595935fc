package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/finding"
)

// Check is the check of sidecar doctor that is about exporting.
const Check = "telemetry"

// signals are those that may leave the process, as variables name them.
var signals = []string{"TRACES", "METRICS"}

// endpoint finds the OTLP endpoint of a signal: its address, host:port, and the variable that names it. The address is empty
// if nothing is exported over OTLP, or if gRPC resolves the target, such as dns:///collector:4317. The problem is
// that of an endpoint to which the SDK cannot export: it parses localhost:4318 as a URL whose scheme is localhost, logs
// nothing, and fails with the first export. Over gRPC such a target is valid.
func endpoint(env func(string) string, signal string) (addr, name string, p *finding.Problem) {
	if exporter := env("OTEL_" + signal + "_EXPORTER"); exporter != "" && exporter != "otlp" {
		return "", "", nil // the SDK does not read it
	}
	grpc := cmp.Or(env("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL")) == "grpc"
	name = "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	value := strings.TrimSpace(env(name))
	switch {
	case value != "":
	case grpc:
		return "localhost:4317", name, nil
	default:
		return "localhost:4318", name, nil
	}
	u, err := url.Parse(value)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
		port := map[bool]string{false: "80", true: "443"}[u.Scheme == "https"]
		return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), name, nil
	}
	if grpc {
		if _, port, err := net.SplitHostPort(value); err != nil || strings.Contains(port, "/") {
			value = ""
		}
		return value, name, nil
	}
	if strings.Contains(value, "@") {
		value = "(it has a login)"
	}
	return "", name, &finding.Problem{
		ID: Check, Warns: true, Cause: fmt.Sprintf("%s are not exported: %s is %q, which is no URL", strings.ToLower(signal), name, value),
		Fix: "write a scheme and a host into " + name + ", such as http://localhost:4318, or https:// for TLS",
	}
}

// Endpoints returns the addresses, host:port, to which the environment asks to export over OTLP, each with the variable that
// names it. The errors are the problems of endpoints to which the SDK cannot export.
func Endpoints(env func(string) string) (addrs map[string]string, problems []error) {
	addrs = map[string]string{}
	for _, signal := range signals {
		if !wanted(env, signal) {
			continue
		}
		addr, name, p := endpoint(env, signal)
		switch {
		case p != nil:
			problems = append(problems, p)
		case addr != "":
			addrs[addr] = name
		}
	}
	return addrs, problems
}

// Unreached returns the problem of an endpoint to which no connection could be made.
func Unreached(addr, name string, err error) *finding.Problem {
	return &finding.Problem{
		ID: Check, Warns: true, Err: err, Cause: fmt.Sprintf("nothing takes connections at %s, which %s names: %v", addr, name, bare(err)),
		Fix: "start the collector there, correct " + name + ", or unset it to export nothing",
	}
}

// bare returns an error of a dial without the address.
func bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// addressed reports whether the SDK can export to a signal's endpoint, and logs a problem if it cannot.
func (s *SDK) addressed(signal string) bool {
	_, _, p := endpoint(os.Getenv, signal)
	if p != nil {
		s.log.Error("telemetry: "+p.Cause, "fix", p.Fix, "docs", finding.Docs(p.ID))
	}
	return p == nil
}
