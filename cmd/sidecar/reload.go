package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/coord/ratelimit"
)

// reloadable are the settings that take effect without a restart, besides the rules.
var reloadable = []string{"telemetry.log_level", "readiness.mode", "rules.files", "rules.precedence"}

// The outcomes of a reload, for its metric and its event.
const (
	reloadOK      = "ok"
	reloadInvalid = "invalid"
)

// origin is where a configuration was read from, to read it again.
type origin struct {
	sources config.Sources
	// files are the files that were read, with their state at that time; nil for a missing file.
	files map[string]fs.FileInfo
	// level is the level of the log.
	level *slog.LevelVar
}

// read loads the configuration and records the files.
func (o *origin) read() (*config.Config, error) {
	o.files = make(map[string]fs.FileInfo)
	src := o.sources
	src.Opened = func(path string, state fs.FileInfo) { o.files[path] = state }
	return loadConfig(src)
}

// reloads reloads the configuration of a running sidecar when its files change. A configuration
// that is not valid in all its parts changes nothing.
type reloads struct {
	app   *app
	start *config.Config // has the values in force of settings that need a restart
	state atomic.Pointer[reloadState]

	// once reports that a file is a pipe or the like, which cannot be read again.
	once  bool
	again chan struct{} // signals to the watch that Reload may have read other files
	done  chan struct{}
	watch sync.WaitGroup

	mu       sync.Mutex // guards what follows; held while a configuration is read and applied
	origin   origin
	full     map[string]bool // the files of the configuration in force that are not empty
	revision int64
}

// reloadState is the state after the last reload.
type reloadState struct {
	config  *config.Config // the whole configuration in force
	applied time.Time
	restart []string // settings that changed in the file and need a restart
	err     error    // why the last reload was refused; nil if it was not
}

func newReloads(a *app, from origin) *reloads {
	r := &reloads{
		app: a, start: a.config, origin: from, full: full(from.files), revision: age(a.config),
		again: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for _, info := range from.files {
		r.once = r.once || info != nil && !info.Mode().IsRegular()
	}
	r.state.Store(&reloadState{config: a.config, applied: time.Now()})
	return r
}

// age returns the revision of the rules: the time of the last change of their newest file. It orders
// versions of the rules across pods, and is the same for all pods of a rollout, whenever each of
// them starts. It is 0 without a file, since there are no rules to order then.
func age(c *config.Config) int64 {
	if c.Modified().IsZero() {
		return 0
	}
	return c.Modified().UnixMilli()
}

// full lists the files that are not empty.
func full(files map[string]fs.FileInfo) map[string]bool {
	m := make(map[string]bool, len(files))
	for path, info := range files {
		m[path] = info != nil && info.Size() > 0
	}
	return m
}

// Reload reads the configuration again and puts it in force, or changes nothing and returns why. It
// is for SIGHUP; changes of the files cause a reload without it.
func (a *app) Reload() error {
	r := a.reloads.Load()
	if r == nil {
		return errors.New("reload: the sidecar does not serve")
	}
	defer func() {
		select {
		case r.again <- struct{}{}:
		default:
		}
	}()
	return r.reload()
}

func (r *reloads) reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.once {
		err := errors.New("a file of the configuration is not a regular file and cannot be read again; restart the sidecar to change it")
		r.refuse(err)
		return err
	}
	c, err := r.origin.read()
	if err == nil {
		err = r.emptied()
	}
	if err == nil {
		err = r.apply(c)
	}
	if err != nil {
		r.refuse(err)
	}
	return err
}

// emptied refuses a file that was not empty and now is: a program may be writing it in place, and
// an empty configuration would drop all rules.
func (r *reloads) emptied() error {
	for path, info := range r.origin.files {
		if info != nil && info.Size() == 0 && r.full[path] {
			return fmt.Errorf("%s: the file is empty, perhaps since it is being written; to have no rules, write an empty list of rules", path)
		}
	}
	return nil
}

func (r *reloads) apply(c *config.Config) error {
	a, was := r.app, r.state.Load()
	if !reflect.DeepEqual(c.Rules.Items, was.config.Rules.Items) || c.Rules.Precedence != was.config.Rules.Precedence {
		// The revision must be higher than the last one, or the state in Redis would treat the new
		// rules as older ones. The age alone is not enough: a new file may have an older time.
		next := max(age(c), r.revision+1)
		if err := a.rules.SetFirst(c.Rules.Items, next, ratelimit.Precedence(c.Rules.Precedence)); err != nil {
			return err
		}
		r.revision = next
	}
	if !reflect.DeepEqual(c.Breakers, was.config.Breakers) {
		if err := a.policies.Set(c.Breakers.Items); err != nil {
			return err
		}
	}
	if err := r.origin.level.UnmarshalText([]byte(c.Telemetry.LogLevel)); err != nil {
		return fmt.Errorf("telemetry.log_level: %w", err)
	}
	a.health.Load().SetAlways(c.Readiness.Mode == config.ReadinessAlways)
	now := &reloadState{config: r.merge(c), applied: time.Now(), restart: r.waiting(c)}
	r.full = full(r.origin.files)

	detail := fmt.Sprintf("%d rules in force", len(a.rules.Names()))
	if len(now.restart) > 0 {
		a.log.Warn("configuration reloaded; some settings that changed keep their old values until a restart",
			"rules", len(a.rules.Names()), "restart_for", strings.Join(now.restart, ", "))
		detail += "; a restart is needed for " + strings.Join(now.restart, ", ")
	} else {
		a.log.Info("configuration reloaded", "rules", len(a.rules.Names()))
	}
	a.telemetry.ConfigReloaded(context.Background(), reloadOK)
	a.events.Publish(coord.Event{Kind: coord.EventReloaded, Reason: reloadOK, Detail: detail})
	r.state.Store(now)
	return nil
}

// waiting lists the settings of c that differ from those in force and need a restart.
func (r *reloads) waiting(c *config.Config) []string {
	return slices.DeleteFunc(c.Changed(r.start), func(path string) bool { return slices.Contains(reloadable, path) })
}

// merge returns c with the old values of the settings that need a restart.
func (r *reloads) merge(c *config.Config) *config.Config {
	m := *c
	m.Socket, m.HTTP, m.Redis, m.Limits = r.start.Socket, r.start.HTTP, r.start.Redis, r.start.Limits
	m.Telemetry.RecordKeys = r.start.Telemetry.RecordKeys
	return &m
}

// refuse reports that a configuration was not put in force. If a file is missing, the log has a
// warning instead of an error, since the file may be just being replaced in two steps.
func (r *reloads) refuse(err error) {
	a, now := r.app, *r.state.Load()
	now.err = err
	level := slog.LevelError
	for _, info := range r.origin.files {
		if info == nil {
			level = slog.LevelWarn
		}
	}
	a.log.Log(context.Background(), level, "the configuration was not reloaded; the old one stays in force", "err", err)
	a.telemetry.ConfigReloaded(context.Background(), reloadInvalid)
	a.events.Publish(coord.Event{Kind: coord.EventReloaded, Reason: reloadInvalid, Detail: brief(err)})
	r.state.Store(&now) // last, so that the log, the metric and the event are there when the state is seen
}

// brief returns the text of an error; of several problems, the first one without its excerpt.
func brief(err error) string {
	var all config.Problems
	if !errors.As(err, &all) || len(all) == 0 {
		return err.Error()
	}
	first := all[0]
	first.Excerpt = ""
	if more := len(all) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more, see the log)", first, more)
	}
	return first.String()
}

// check is the health check of the configuration. A refused reload does not make the sidecar
// unready, since the old configuration stays in force.
func (r *reloads) check(context.Context) (string, error) {
	s := r.state.Load()
	text := "no file"
	if f := s.config.File(); f != "" {
		text = f
	}
	text += ", in force since " + s.applied.UTC().Format(time.RFC3339)
	if s.err != nil {
		text += "; warning: the last reload was refused: " + brief(s.err)
	}
	if len(s.restart) > 0 {
		text += "; warning: a restart is needed for " + strings.Join(s.restart, ", ")
	}
	return text, nil
}
