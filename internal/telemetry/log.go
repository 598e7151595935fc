package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/mattn/go-isatty"
	"go.opentelemetry.io/otel"
)

// The formats of the log.
const (
	FormatAuto = "auto" // text for a terminal, JSON for everything else
	FormatJSON = "json"
	FormatText = "text"
)

// LogOptions are the level and the format of the log.
type LogOptions struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is one of the formats; empty means FormatAuto.
	Format string
}

// Log is the sidecar's log, one line a record.
type Log struct {
	*slog.Logger
	*AsyncWriter
	// Level may be changed while the log is in use.
	Level *slog.LevelVar
	// Format is FormatJSON or FormatText.
	Format string
}

// NewLog makes a log whose writers never block, until Close.
func NewLog(w io.Writer, o LogOptions) (*Log, error) {
	l := &Log{Level: new(slog.LevelVar), Format: o.Format}
	if l.Format == "" || l.Format == FormatAuto {
		l.Format = FormatJSON
		if IsTerminal(w) {
			l.Format = FormatText
		}
	}
	if err := l.Level.UnmarshalText([]byte(o.Level)); err != nil {
		return nil, fmt.Errorf("telemetry.log_level %q is not a level; write debug, info, warn or error", o.Level)
	}
	var handler func(to io.Writer) slog.Handler
	switch above := (&slog.HandlerOptions{Level: l.Level}); l.Format {
	case FormatJSON:
		handler = func(to io.Writer) slog.Handler { return slog.NewJSONHandler(to, above) }
	case FormatText:
		handler = func(to io.Writer) slog.Handler { return slog.NewTextHandler(to, above) }
	default:
		return nil, fmt.Errorf("telemetry.log_format %q is not a format; write auto, json or text", o.Format)
	}
	straight := handler(w)
	l.AsyncWriter = newAsyncWriter(w, func(dropped int64) error {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of the log were dropped: nothing took them in time", 0)
		r.AddAttrs(slog.Int64("lines", dropped))
		return straight.Handle(context.Background(), r) // also if the log's level is above warn: the missing lines may be errors
	})
	l.Logger = slog.New(handler(l.AsyncWriter))
	return l, nil
}

// IsTerminal reports whether a stream, in or out of a process, is a terminal:
// whether a person is at its other end.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// divert sends the errors and warnings of OpenTelemetry itself to log, instead of
// plain lines on stderr.
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

// quiet passes one record for each level and minute, by the times of the records.
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
