package telemetry

import "go.opentelemetry.io/otel/trace"

// Off is the provider of a sidecar that traces nothing.
var Off trace.TracerProvider = off{}

// MaxSeries is the largest number of label sets.
const MaxSeries = maxSeries

// KeptLog is how many bytes of lines are kept for a slow reader.
const KeptLog = maxKeptLog

// Kept counts the label sets that are kept for closed connections.
func Kept(t *Telemetry) int { return len(*t.byReason.sets.Load()) }

// Divert sends OpenTelemetry's own complaints to a log.
var Divert = divert
