package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/config"
	"github.com/coxswain-sidecar/coxswain/internal/finding"
	"github.com/coxswain-sidecar/coxswain/internal/health"
	"github.com/coxswain-sidecar/coxswain/internal/port"
	"github.com/coxswain-sidecar/coxswain/internal/rpc"
	"github.com/coxswain-sidecar/coxswain/internal/status"
)

const (
	folderID  = rpc.FolderCheck
	fileID    = rpc.FileCheck
	sidecarID = "sidecar"
	httpID    = port.Check
)

// answerTime bounds an exchange that a running peer completes at once: asking the sidecar, or connecting to an
// exporter's endpoint.
const answerTime = 2 * time.Second

// sidecarState is what the running sidecar answered; it is asked once for all checks.
type sidecarState struct {
	asked       bool
	unreachable *finding.Problem // nil = it answered
	hello       api.HelloResult
	health      api.HealthResult
	inForce     *config.Config // nil = this user may not ask for it
}

// ask connects to the sidecar, and asks for its version, its health and, if this user may, its configuration.
func (e *examination) ask(ctx context.Context) *finding.Problem {
	if e.asked {
		return e.unreachable
	}
	e.asked = true
	socket := e.config.Socket.Path
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{Socket: socket, Client: "sidecar doctor", Version: e.o.Version, FailFast: true})
	if err == nil {
		defer func() { _ = c.Close() }()
		if e.hello, err = client.Call(ctx, c, api.SessionHello, api.HelloParams{Client: "sidecar doctor", Version: e.o.Version}); err == nil {
			e.health, err = client.Call(ctx, c, api.HealthGet, api.Nothing{})
		}
		if snapshot, refused := client.Call(ctx, c, api.InspectSnapshot, api.Nothing{}); refused == nil {
			if printed, unread := config.Printed(snapshot.Config); unread == nil { // the configuration of another version may have unknown keys
				e.inForce = printed
			}
		}
	}
	if err != nil {
		e.unreachable = Unreachable(socket, err)
	}
	return e.unreachable
}

// about returns the problem of reaching the sidecar if it is a problem of the check with this id.
func (e *examination) about(ctx context.Context, id string) error {
	if p := e.ask(ctx); p != nil && p.ID == id {
		return p
	}
	return nil
}

func (e *examination) folder(ctx context.Context) (string, error) {
	folder := filepath.Dir(e.config.Socket.Path)
	found := folder
	if info, err := os.Stat(folder); err == nil {
		found += ", " + described(info)
	} else if e.o.Pre {
		found += ", which the start makes"
	}
	if e.o.Pre {
		if p := rpc.Folder(folder); p != nil {
			return folder, p
		}
	} else if err := e.about(ctx, folderID); err != nil {
		return folder, err
	}
	if p := rpc.OpenToOthers(folder); p != nil {
		return found, p
	}
	return found, nil
}

func (e *examination) file(ctx context.Context) (string, error) {
	path := e.config.Socket.Path
	if e.o.Pre {
		stale, err := rpc.Occupied(path)
		if stale {
			return path + " was left by a sidecar that died; the start takes it over", err
		}
		if err != nil {
			return path, err
		}
		return path + " is free", nil
	}
	if err := e.about(ctx, fileID); err != nil {
		return path, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return path + ", " + described(info), e.asConfigured(info)
}

// asConfigured compares the socket's mode and owner with those of the configuration: if they differ, other users may
// connect than the configuration allows.
func (e *examination) asConfigured(info os.FileInfo) error {
	s := e.config.Socket
	mode, err := config.ParseMode(s.Mode)
	if err != nil {
		return err
	}
	uid, gid := owner(info)
	var other []string
	if info.Mode().Perm() != mode {
		other = append(other, fmt.Sprintf("mode %04o, and socket.mode is %04o", info.Mode().Perm(), mode))
	}
	if s.UID != -1 && int(uid) != s.UID {
		other = append(other, fmt.Sprintf("uid %d, and socket.uid is %d", uid, s.UID))
	}
	if s.GID != -1 && int(gid) != s.GID {
		other = append(other, fmt.Sprintf("gid %d, and socket.gid is %d", gid, s.GID))
	}
	if len(other) == 0 {
		return nil
	}
	return failure(fileID, "the socket has "+strings.Join(other, "; "),
		"restart the sidecar, which sets them; if it has another configuration, name that with --config or COXSWAIN_CONFIG")
}

// running reports whether a sidecar is expected to run.
func (e *examination) running() bool { return !e.o.Pre }

func (e *examination) sidecar(ctx context.Context) (string, error) {
	switch p := e.ask(ctx); {
	case p == nil:
	case p.ID != sidecarID:
		return "", stoppedBy(p.ID)
	default:
		return e.config.Socket.Path, p
	}
	found := fmt.Sprintf("version %s, %s store", e.hello.Version, e.health.Store)
	switch h := e.health; {
	case !h.Ready || !h.Live || h.Degraded:
		return found, notReady(h)
	case e.hello.Version != e.o.Version:
		return found + ", ready", warning(sidecarID, fmt.Sprintf("it has version %s, and this is %s", e.hello.Version, e.o.Version),
			"ask with the sidecar's own binary, in its container, or restart it with this one")
	default:
		return found + ", ready", e.asInForce()
	}
}

// asInForce compares the configuration with that of the running sidecar: if they differ, the other checks are not about
// the sidecar that runs. http.addr may differ, because the check of the health port uses the address in force.
func (e *examination) asInForce() error {
	if e.inForce == nil {
		return nil
	}
	other := slices.DeleteFunc(e.config.Unlike(e.inForce), func(path string) bool { return path == "http.addr" })
	if len(other) == 0 {
		return nil
	}
	return warning(sidecarID, "the running sidecar has other values of "+strings.Join(other, ", "),
		"give doctor the same --config, flags and variables as serve; if the file was changed, restart the sidecar")
}

// notReady lists the failed checks of the sidecar.
func notReady(h api.HealthResult) *finding.Problem {
	state := "it is not ready"
	switch {
	case !h.Live:
		state = "it is not live"
	case h.Degraded:
		state = "it is ready because readiness.mode is always, and cannot decide"
	}
	p := &finding.Problem{ID: sidecarID, Cause: state, Warns: h.Degraded}
	for _, c := range h.Checks {
		if c.OK {
			continue
		}
		p.Cause += "\n  " + c.Name + ": " + c.Detail
		p.Fix = cmp.Or(p.Fix, c.Fix)
	}
	p.Fix = cmp.Or(p.Fix, "see the checks below, and its log")
	return p
}

func (e *examination) http(ctx context.Context) (string, error) {
	addr := e.config.HTTP.Addr
	if e.inForce != nil {
		addr = e.inForce.HTTP.Addr
	}
	if page := e.config.HTTP.StatusAddr; e.o.Pre && page != "" {
		l, err := status.Port.Listen(page)
		if err != nil {
			return page, err
		}
		if err := l.Close(); err != nil {
			return page, err
		}
	}
	host, number, err := net.SplitHostPort(addr)
	switch {
	case addr == "":
		return "", errAbsent
	case err != nil:
		return "", err
	case e.o.Pre:
		l, err := health.Port.Listen(addr)
		if err != nil {
			return addr, err
		}
		return addr + " is free", l.Close()
	case number == "0":
		return "any free port, which the sidecar's log names", nil
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, number)+"/livez", nil)
	if err != nil {
		return "", err
	}
	reply, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", failure(httpID, fmt.Sprintf("the health pages do not answer at %s: %v", addr, errors.Unwrap(err)),
			"restart the sidecar if http.addr was changed after its start; else see whether it listens in another network namespace")
	}
	_ = reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return "", failure(httpID, fmt.Sprintf("/livez at %s answers %s", addr, reply.Status), "read /livez?verbose there, and the sidecar's log")
	}
	return addr + ", /livez answers 200", nil
}
