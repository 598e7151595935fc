package telemetry

import (
	"cmp"
	"net/url"
	"os"
	"strings"
)

// addressed reports whether a signal's OTLP endpoint can be exported to, and
// tells of one that cannot: the SDK takes localhost:4318 for a URL whose scheme is
// localhost, says nothing, and fails with the first export. Over gRPC such a
// target is a good one.
func (s *SDK) addressed(signal string) bool {
	if exporter := os.Getenv("OTEL_" + signal + "_EXPORTER"); exporter != "" && exporter != "otlp" {
		return true // nobody reads it
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if protocol == "grpc" {
		return true
	}
	name := "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"
	if os.Getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	value := strings.TrimSpace(os.Getenv(name))
	if value == "" {
		return true
	}
	u, err := url.Parse(value)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
		return true
	}
	if strings.Contains(value, "@") {
		value = "(it has a login)"
	}
	s.log.Error("telemetry: "+strings.ToLower(signal)+" are not exported; write a scheme and a host into "+name+
		", such as http://localhost:4318, or https:// for TLS", "value", value)
	return false
}
