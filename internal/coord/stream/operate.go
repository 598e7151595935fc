package stream

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/internal/coord"
	"github.com/coxswain-sidecar/coxswain/internal/lua"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

const (
	// reapAfter is how long an idle consumer without messages is kept. A running pod reads at
	// least once a second, so that the pod of a consumer that is idle for an hour is gone.
	reapAfter = time.Hour
	// maxIDs is how many messages a call of redrive or trim may name.
	maxIDs = 256
)

// operating lists the methods for operators of streams.
func (s *Streams) operating() []coord.Method {
	byStream := coord.Named(noun, "stream")
	return []coord.Method{
		coord.On(api.StreamList, s.List),
		coord.On(api.StreamStats, s.Stats, byStream),
		coord.On(api.StreamGroups, s.ListGroups, byStream),
		coord.On(api.StreamRead, s.Read, byStream),
		coord.On(api.StreamDead, s.Dead, byStream),
		coord.On(api.StreamRedrive, s.Redrive, byStream),
		coord.On(api.StreamTrim, s.Trim, byStream),
	}
}

// reap removes the consumers of a group that have no pending messages and have been idle for
// reapAfter, so that the consumers of pods that get a new name with each start do not accumulate. A
// consumer with pending messages stays, since its messages would be removed with it.
func (s *Streams) reap(ctx context.Context, stream, group string) error {
	return s.reapIdle(ctx, stream, group, reapAfter)
}

func (s *Streams) reapIdle(ctx context.Context, stream, group string, idle time.Duration) error {
	_, err := lua.Run(ctx, s.Runner, ReapScript, ReapIn{
		Keys: s.keys.streamKeys(stream), Group: group, IdleMS: idle.Milliseconds(),
	}, lua.StoredReply{})
	if err != nil {
		return coord.Failed("stream "+stream+": reap", err)
	}
	return nil
}

// messageID converts an id that a caller gave to the form that Redis writes. field is the name of
// the param, for the error.
func messageID(field, id string) (string, error) {
	ms, serial, _ := strings.Cut(id, "-")
	if serial == "" && ms == id {
		serial = "0"
	}
	// Scripts handle integers up to api.MaxInt; no id that Redis made by its clock exceeds that.
	at, err := strconv.ParseUint(ms, 10, 64)
	n, err2 := strconv.ParseUint(serial, 10, 64)
	if err != nil || err2 != nil || at > api.MaxInt || n > api.MaxInt {
		return "", coord.Invalid("%s: %q is not an id; give one that a stream method returned, such as 1700000000000-0", field, id)
	}
	return strconv.FormatUint(at, 10) + "-" + strconv.FormatUint(n, 10), nil
}

// messageIDs is messageID for each of the param ids.
func messageIDs(ids []string) ([]string, error) {
	if len(ids) > maxIDs {
		return nil, coord.Invalid("ids: %d are too many; give at most %d at once", len(ids), maxIDs)
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		var err error
		if all[i], err = messageID("ids", id); err != nil {
			return nil, err
		}
	}
	return all, nil
}
