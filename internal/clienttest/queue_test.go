package clienttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client"
)

var errWork = errors.New("it did not work")

func TestQueueDoAcknowledgesWhatWorked(t *testing.T) {
	t.Parallel()
	c := dial(t, live(t), client.Options{})
	ctx := t.Context()
	for _, id := range []string{"1", "2"} {
		_, err := c.QueueEnqueue(ctx, "q", id, client.EntryOptions{TTL: time.Hour, Body: []byte(id)})
		require.NoError(t, err)
	}
	var ran []string
	work := func(err error) func(context.Context, *client.Entry) error {
		return func(ctx context.Context, e *client.Entry) error {
			require.NoError(t, ctx.Err())
			require.Equal(t, e.ID(), string(e.Body()))
			ran = append(ran, e.ID())
			return err
		}
	}
	require.ErrorIs(t, c.QueueDo(ctx, "q", client.QueueOptions{}, work(errWork)), errWork)
	require.Panics(t, func() {
		_ = c.QueueDo(ctx, "q", client.QueueOptions{}, func(context.Context, *client.Entry) error { panic("oh") })
	})
	require.NoError(t, c.QueueDo(ctx, "q", client.QueueOptions{}, work(nil)))
	e, err := c.QueueDequeue(ctx, "q", client.QueueOptions{TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, []any{"2", int64(1)}, []any{e.ID(), e.Attempt()})
	require.NoError(t, e.Renew(ctx))
	require.NoError(t, e.Release(ctx))
	require.ErrorIs(t, context.Cause(e.Context()), client.ErrReleased)
	require.NoError(t, c.QueueDo(ctx, "q", client.QueueOptions{}, work(nil)))
	require.Equal(t, []string{"1", "1", "2"}, ran)
	require.ErrorIs(t, c.QueueDo(ctx, "q", client.QueueOptions{}, work(nil)), client.ErrBusy)
}

func TestALostEntryIsReported(t *testing.T) {
	t.Parallel()
	socket := live(t)
	c, other := dial(t, socket, client.Options{}), dial(t, socket, client.Options{})
	_, err := c.QueueEnqueue(t.Context(), "q", "1", client.EntryOptions{TTL: time.Hour})
	require.NoError(t, err)
	err = c.QueueDo(t.Context(), "q", client.QueueOptions{TTL: time.Hour}, func(ctx context.Context, e *client.Entry) error {
		err := other.CallRaw(t.Context(), "queue.release", map[string]any{"queue": "q", "lease": e.Token()}, nil)
		require.NoError(t, err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(30 * time.Second):
			return errors.New("it is not told")
		}
	})
	require.ErrorIs(t, err, client.ErrLost)
}

func TestALostReservationIsReported(t *testing.T) {
	t.Parallel()
	socket := live(t)
	c, other := dial(t, socket, client.Options{}), dial(t, socket, client.Options{})
	done, err := c.SeenDo(t.Context(), "urls", "u", client.SeenOptions{TTL: time.Hour}, func(ctx context.Context, _ *client.Reservation) error {
		r, _, err := c.SeenReserve(ctx, "urls", "v", client.SeenOptions{TTL: time.Hour})
		require.NoError(t, err)
		err = other.CallRaw(t.Context(), "seen.release", map[string]any{"set": r.Name(), "key": r.Key(), "token": r.Token()}, nil)
		require.NoError(t, err)
		select {
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-time.After(30 * time.Second):
			return errors.New("it is not told")
		}
	})
	require.ErrorIs(t, err, client.ErrLost)
	require.False(t, done)
}

func TestSeenDoRunsOnce(t *testing.T) {
	t.Parallel()
	socket := live(t)
	c, other := dial(t, socket, client.Options{}), dial(t, socket, client.Options{})
	ctx, ran := t.Context(), 0
	do := func(c *client.Client, err error) (bool, error) {
		return c.SeenDo(ctx, "urls", "u", client.SeenOptions{}, func(context.Context, *client.Reservation) error { ran++; return err })
	}
	_, err := do(c, errWork)
	require.ErrorIs(t, err, errWork)
	r, state, err := c.SeenReserve(ctx, "urls", "u", client.SeenOptions{TTL: time.Hour})
	require.NoError(t, err)
	require.Equal(t, "new", state)
	require.Equal(t, []string{"urls", "u"}, []string{r.Name(), r.Key()})
	done, err := do(other, nil)
	require.NoError(t, err)
	require.False(t, done, "someone else does it")
	require.NoError(t, r.Release(ctx))
	for i := range 3 {
		done, err := do([]*client.Client{c, other}[i%2], nil)
		require.NoError(t, err)
		require.Equal(t, i == 0, done)
	}
	require.Equal(t, 2, ran)
	_, state, err = other.SeenReserve(ctx, "urls", "u", client.SeenOptions{})
	require.NoError(t, err)
	require.Equal(t, "done", state)
}
