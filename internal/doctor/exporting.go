package doctor

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

const telemetryID = telemetry.Check

// exporting checks whether the endpoints of OTEL_* variables accept connections.
func (e *examination) exporting(ctx context.Context) (string, error) {
	addrs, errs := telemetry.Endpoints(e.env)
	if len(addrs) == 0 && len(errs) == 0 {
		return "", errAbsent
	}
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for _, addr := range slices.Sorted(maps.Keys(addrs)) {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			errs = append(errs, telemetry.Unreached(addr, addrs[addr], err))
			continue
		}
		_ = c.Close()
	}
	found := "exporting to " + strings.Join(slices.Sorted(maps.Keys(addrs)), ", ")
	if len(errs) > 0 {
		return "", errs[0]
	}
	return found, nil
}

// env returns the value of an environment variable, empty if it is not set.
func (e *examination) env(name string) string {
	value := ""
	for _, pair := range e.o.Sources.Env {
		if n, v, _ := strings.Cut(pair, "="); n == name {
			value = v
		}
	}
	return value
}
