package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// NewLog makes the sidecar's logger: JSON, one line a record, from the level
// named debug, info, warn or error, which may be changed later.
func NewLog(w io.Writer, level string) (*slog.Logger, *slog.LevelVar, error) {
	l := new(slog.LevelVar)
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, nil, fmt.Errorf("telemetry.log_level %q is not a level; write debug, info, warn or error", level)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), l, nil
}

// divert sends what OpenTelemetry says of itself to log, in place of plain
// lines on stderr.
func divert(log *slog.Logger) *slog.Logger {
	limited := slog.New(&quiet{to: log.Handler(), said: &said{next: make(map[slog.Level]time.Time)}})
	otel.SetLogger(logr.FromSlogHandler(limited.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		limited.Error("telemetry: export or record", "err", err)
	}))
	return limited
}

// quietFor is how long a level stays silent after a line.
const quietFor = time.Minute

// quiet passes one record a level and minute, by the records' own time.
type quiet struct {
	to   slog.Handler
	said *said
}

// said is shared by the handlers that With makes of one another.
type said struct {
	mu      sync.Mutex // guards what follows
	next    map[slog.Level]time.Time
	dropped int
}

// logrWarn is the level of OpenTelemetry's warnings, V(1), which slog takes for
// something below info.
const logrWarn = slog.Level(-1)

func seen(l slog.Level) slog.Level {
	if l == logrWarn {
		return slog.LevelWarn
	}
	return l
}

func (q *quiet) Enabled(ctx context.Context, l slog.Level) bool { return q.to.Enabled(ctx, seen(l)) }

func (q *quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = seen(r.Level)
	dropped, ok := q.said.take(r.Level, r.Time)
	if !ok {
		return nil
	}
	if dropped > 0 {
		r.AddAttrs(slog.Int("suppressed", dropped))
	}
	return q.to.Handle(ctx, r)
}

func (s *said) take(l slog.Level, now time.Time) (dropped int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next[l]) {
		s.dropped++
		return 0, false
	}
	s.next[l] = now.Add(quietFor)
	dropped, s.dropped = s.dropped, 0
	return dropped, true
}

func (q *quiet) WithAttrs(a []slog.Attr) slog.Handler { return &quiet{q.to.WithAttrs(a), q.said} }
func (q *quiet) WithGroup(name string) slog.Handler   { return &quiet{q.to.WithGroup(name), q.said} }
