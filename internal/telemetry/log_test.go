package telemetry_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	"github.com/coxswain-sidecar/coxswain/internal/telemetry"
)

// hanging answers nothing until c is closed.
func hanging(c <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-c })
}

func TestALevelOfTheLogIsAName(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1, "WARN": 2} {
		log := new(lines)
		l, err := telemetry.NewLog(log, telemetry.LogOptions{Level: level})
		require.NoError(t, err)
		l.Debug("a")
		l.Info("b")
		l.Warn("c")
		l.Error("d")
		l.Close(patience)
		require.Equal(t, want, strings.Count(log.String(), "\n"), level)
		require.Contains(t, log.String(), `"level":"ERROR","msg":"d"}`)
	}
	_, err := telemetry.NewLog(new(lines), telemetry.LogOptions{Level: "loud"})
	require.EqualError(t, err, `telemetry.log_level "loud" is not a level; write debug, info, warn or error`)
	_, err = telemetry.NewLog(new(lines), telemetry.LogOptions{Level: "info", Format: "xml"})
	require.EqualError(t, err, `telemetry.log_format "xml" is not a format; write auto, json or text`)
}

func TestTheLevelOfTheLogChangesWhileItIsInUse(t *testing.T) {
	t.Parallel()
	log := new(lines)
	l, err := telemetry.NewLog(log, telemetry.LogOptions{Level: "info"})
	require.NoError(t, err)
	with := l.With("a", 1)
	with.Debug("before")
	l.Level.Set(slog.LevelDebug)
	with.Debug("after")
	l.Close(patience)
	require.NotContains(t, log.String(), "before")
	require.Contains(t, log.String(), "after")
}

func TestTheLogIsJSONUnlessTextIsAskedFor(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"": `"msg":"a b"}`, "auto": `"msg":"a b"}`, "json": `"msg":"a b"}`, "text": `level=INFO msg="a b"`,
	} {
		log := new(lines)
		l, err := telemetry.NewLog(log, telemetry.LogOptions{Level: "info", Format: format})
		require.NoError(t, err)
		l.Info("a b")
		l.Close(patience)
		require.Contains(t, log.String(), want, format)
	}
}

func TestOpenTelemetryComplainsAtMostOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(lines)
		telemetry.Divert(slog.New(slog.NewTextHandler(log, nil)))
		for range 5 {
			otel.Handle(errors.New("collector away"))
			time.Sleep(15 * time.Second)
		}
		require.Equal(t, 2, strings.Count(log.String(), "collector away"))
		require.Contains(t, log.String(), "suppressed=3")
	})
}

func TestWarningsOfOpenTelemetryAreWarningsAndItsChatterIsNot(t *testing.T) {
	log := new(lines)
	sdk := logr.FromSlogHandler(telemetry.Divert(slog.New(slog.NewTextHandler(log, nil))).Handler())
	sdk.V(1).Info("dropped spans", "n", 3)
	sdk.V(4).Info("exporter made")
	sdk.WithName("x").WithValues("k", "v").Error(errors.New("boom"), "bad endpoint")
	require.Contains(t, log.String(), `level=WARN msg="dropped spans" n=3`)
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), "k=v")
	require.NotContains(t, log.String(), "exporter made")
}
