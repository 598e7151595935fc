package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/client/api"
	"github.com/coxswain-sidecar/coxswain/internal/coord"
)

func (o *operated) read(t *testing.T, p api.StreamReadParams) api.StreamReadResult {
	t.Helper()
	p.Stream = "s"
	if p.Count == 0 {
		p.Count = 20
	}
	r, err := o.Read(t.Context(), coord.Caller{}, &p)
	require.NoError(t, err)
	return r
}

func (o *operated) publish(t *testing.T, p api.StreamPublishParams) string {
	t.Helper()
	p.Stream = "s"
	r, err := o.Publish(t.Context(), coord.Caller{}, &p)
	require.NoError(t, err)
	return r.ID
}

// A read makes no group and changes none, and also lists messages that groups are done with.
func TestMessagesAreReadAsTheyWerePublishedWithoutAGroup(t *testing.T) {
	t.Parallel()
	o := operate(t)
	require.Equal(t, api.StreamReadResult{Messages: []api.StreamEntry{}, Next: "0-0"}, o.read(t, api.StreamReadParams{}))
	require.Equal(t, api.StreamReadResult{Messages: []api.StreamEntry{}, Next: "0-0"}, o.read(t, api.StreamReadParams{Start: "new"}))
	require.Zero(t, o.client.Exists(ctx, o.log().Log, o.log().Groups).Val(), "reading writes nothing")

	exact := []byte{0, 0xff, '\n', 0xc1}
	o.bury(t, 1, named)
	second := o.publish(t, api.StreamPublishParams{Body: exact, Fields: map[string]string{"a": "1"}})
	_, err := o.Redrive(t.Context(), coord.Caller{}, &api.StreamRedriveParams{Stream: "s", Count: 1})
	require.NoError(t, err)
	foreign := o.client.XAdd(ctx, &redis.XAddArgs{Stream: o.log().Log, Values: []any{"m", "\xc1"}}).Val()
	groups := o.client.XInfoGroups(ctx, o.log().Log).Val()
	r := o.read(t, api.StreamReadParams{})
	require.Equal(t, groups, o.client.XInfoGroups(ctx, o.log().Log).Val())
	require.False(t, r.More)
	require.Equal(t, foreign, r.Next)
	require.Len(t, r.Messages, 4)
	require.Equal(t, api.StreamEntry{
		ID: second, Body: exact, Fields: map[string]string{"a": "1"}, PublishedAtMS: r.Messages[1].PublishedAtMS,
	}, r.Messages[1])
	require.Equal(t, strings.Split(second, "-")[0], fmt.Sprint(r.Messages[1].PublishedAtMS))
	require.Empty(t, r.Messages[0].Group)
	require.Equal(t, "g", r.Messages[2].Group, "a redriven one is for the group that failed")
	require.Equal(t, named(0), r.Messages[2].Body)
	require.Equal(t, api.StreamEntry{ID: foreign, PublishedAtMS: r.Messages[3].PublishedAtMS}, r.Messages[3], "what no sidecar wrote hides nothing")
}

// A caller that continues with next gets each message once, whatever is published meanwhile.
func TestAReadContinuesAfterThePageBefore(t *testing.T) {
	t.Parallel()
	o := operate(t)
	o.publish(t, api.StreamPublishParams{Body: []byte("before")})
	next := o.read(t, api.StreamReadParams{Start: "new"}).Next
	var seen []string
	for n := range 5 {
		o.publish(t, api.StreamPublishParams{Body: []byte(fmt.Sprint(n, strings.Repeat("x", 200<<10)))})
		for more := true; more; {
			r := o.read(t, api.StreamReadParams{After: next, Start: "new", Count: 3})
			for _, m := range r.Messages {
				seen = append(seen, string(m.Body[:1]))
			}
			next, more = r.Next, r.More
		}
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, seen)
	require.Equal(t, api.StreamReadResult{Messages: []api.StreamEntry{}, Next: next}, o.read(t, api.StreamReadParams{After: next}))
	r := o.read(t, api.StreamReadParams{})
	require.Len(t, r.Messages, 3, "bytes bound a page: the short one and two of 200 KiB")
	require.True(t, r.More)
	_, err := o.Read(t.Context(), coord.Caller{}, &api.StreamReadParams{Stream: "s", Count: 1, After: "x"})
	require.ErrorContains(t, coord.Wire(err), "INVALID_ARGUMENT: after: ")
}
