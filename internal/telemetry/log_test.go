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
		l, _, err := telemetry.NewLog(log, level)
		require.NoError(t, err)
		l.Debug("a")
		l.Info("b")
		l.Warn("c")
		l.Error("d")
		require.Equal(t, want, strings.Count(log.String(), "\n"), level)
		require.Contains(t, log.String(), `"level":"ERROR","msg":"d"}`)
	}
	_, _, err := telemetry.NewLog(new(lines), "loud")
	require.EqualError(t, err, `telemetry.log_level "loud" is not a level; write debug, info, warn or error`)
}

func TestTheLevelOfTheLogChangesWhileItIsInUse(t *testing.T) {
	t.Parallel()
	log := new(lines)
	l, level, err := telemetry.NewLog(log, "info")
	require.NoError(t, err)
	with := l.With("a", 1)
	with.Debug("before")
	level.Set(slog.LevelDebug)
	with.Debug("after")
	require.NotContains(t, log.String(), "before")
	require.Contains(t, log.String(), "after")
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
