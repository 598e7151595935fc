package stream_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coxswain-sidecar/coxswain/internal/coord/stream"
	"github.com/coxswain-sidecar/coxswain/internal/luatest"
)

// modelStream models a stream with its groups. It takes ids from Redis, since they depend on its clock. The time for
// which a message has been idle depends on that clock too; in the model it is 0, or longer than the visibility timeout,
// as the test sets it.
type modelStream struct {
	log     []modelMessage
	dead    []modelLetter
	groups  map[string]*modelGroup // those that exist
	known   map[string]string      // the last message that is known to have been delivered to a group
	retry   map[string]map[string]int64
	trimmed int64

	serial  int64
	delayed []modelDelayed
	dedupes map[string]modelDedupe
}

type modelMessage struct{ id, text, only string }

type modelLetter struct {
	text, id, group, reason string
	attempts                int64
}

type modelGroup struct {
	last    string
	pending map[string]*modelDelivery
}

type modelDelivery struct {
	consumer string
	attempts int64
	idle     bool
}

type modelDelayed struct {
	due    int64 // ms
	serial int64
	text   string
}

type modelDedupe struct {
	id   string
	ends int64
}

func (m *modelStream) of(id string) *modelMessage {
	if i := slices.IndexFunc(m.log, func(x modelMessage) bool { return x.id == id }); i >= 0 {
		return &m.log[i]
	}
	return nil
}

// compareIDs compares ids as Redis does.
func compareIDs(a, b string) int {
	parse := func(id string) (ms, n int) {
		before, after, _ := strings.Cut(id, "-")
		ms, _ = strconv.Atoi(before)
		n, _ = strconv.Atoi(after)
		return ms, n
	}
	ams, an := parse(a)
	bms, bn := parse(b)
	return cmp.Or(cmp.Compare(ams, bms), cmp.Compare(an, bn))
}

// streamRun is one random run of operations on a stream and on its model.
type streamRun struct {
	s        *luatest.Store
	name     string
	m        modelStream
	now      int64
	timeline []string
}

const (
	// visible is the visibility timeout of all messages, hidden a longer time.
	visible = int64(time.Hour / time.Millisecond)
	hidden  = 2 * time.Hour
)

func (p *streamRun) say(format string, args ...any) {
	p.timeline = append(p.timeline, fmt.Sprintf("at %s ", time.Duration(p.now-luatest.Epoch)*time.Microsecond)+fmt.Sprintf(format, args...))
}

func (p *streamRun) story() string { return strings.Join(p.timeline, "\n") }

func (p *streamRun) keys() stream.Keys {
	return stream.Keys{Log: p.name + ":log", Dead: p.name + ":dead", Groups: p.name + ":groups"}
}

func (p *streamRun) delayedKeys() stream.DelayedKeys {
	return stream.DelayedKeys{Due: p.name + ":due", Delayed: p.name + ":delayed"}
}

func (p *streamRun) of(group string) stream.GroupKeys {
	part := func(name string) string { return p.name + ":" + name + ":" + group }
	return stream.GroupKeys{Retry: part("retry"), Lanes: part("lanes"), Parked: part("parked"), Laned: part("laned")}
}

func (p *streamRun) dedupe(id string) string { return p.name + ":dedupe:" + id }

// pass advances the scripts' clock, sometimes exactly to a due time or just before one.
func (p *streamRun) pass(t *rapid.T) {
	var ends []int64
	for _, d := range p.m.delayed {
		ends = append(ends, d.due*1000)
	}
	for _, retry := range p.m.retry {
		ends = slices.AppendSeq(ends, maps.Values(retry))
	}
	d := rapid.SampledFrom([]int64{1, 100_000, 999_999, 30_000_000}).Draw(t, "us")
	if len(ends) > 0 && rapid.Bool().Draw(t, "to an end") {
		slices.Sort(ends)
		d = max(rapid.SampledFrom(ends).Draw(t, "which")-rapid.Int64Range(0, 1).Draw(t, "just before")-p.now, 0)
	}
	p.now += d
	for id, x := range p.m.dedupes {
		if p.now >= x.ends {
			p.s.Del(t, p.dedupe(id))
			delete(p.m.dedupes, id)
		}
	}
}

func (p *streamRun) publish(t *rapid.T, text, dedupe string, delay int64) {
	p.say("publish %q dedupe %q delay %dms", text, dedupe, delay)
	const keep = 10_000
	in := stream.PublishIn{Keys: p.keys(), DelayedKeys: p.delayedKeys(), Message: text, DedupeMS: keep, DelayMS: delay, Broadcast: "b"}
	if dedupe != "" {
		in.Dedupe = p.dedupe(dedupe)
	}
	p.s.Apart(t)
	got := luatest.Call(t, p.s, stream.PublishScript, p.now, in)
	if first, twice := p.m.dedupes[dedupe]; twice {
		require.Equal(t, stream.PublishOut{ID: first.id}, got, "%s", p.story())
		return
	}
	want := stream.PublishOut{Published: true}
	if delay > 0 {
		want.DueMS = luatest.CeilMS(p.now) + delay
		p.m.serial++
		p.m.delayed = append(p.m.delayed, modelDelayed{due: want.DueMS, serial: p.m.serial, text: text})
	} else {
		want.ID = got.ID
		require.NotEmpty(t, got.ID)
		if len(p.m.log) > 0 {
			require.Positive(t, compareIDs(got.ID, p.m.log[len(p.m.log)-1].id))
		}
		p.m.log = append(p.m.log, modelMessage{id: got.ID, text: text})
	}
	require.Equal(t, want, got, "%s", p.story())
	if dedupe != "" {
		require.LessOrEqual(t, p.s.TTL(in.Dedupe), keep*time.Millisecond)
		require.Greater(t, p.s.TTL(in.Dedupe), keep*time.Millisecond/2)
		p.m.dedupes[dedupe] = modelDedupe{got.ID, p.now + keep*1000}
	}
}

func (p *streamRun) due(t *rapid.T) {
	p.say("due")
	p.s.Apart(t)
	got := luatest.Call(t, p.s, stream.DueScript, p.now, stream.DueIn{Keys: p.keys(), DelayedKeys: p.delayedKeys()})
	slices.SortFunc(p.m.delayed, func(a, b modelDelayed) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.serial, b.serial))
	})
	want := stream.DueOut{NextMS: -1}
	for len(p.m.delayed) > 0 && p.m.delayed[0].due*1000 <= p.now {
		p.m.log = append(p.m.log, modelMessage{text: p.m.delayed[0].text}) // its id is set below
		p.m.delayed = p.m.delayed[1:]
		want.Added++
	}
	if len(p.m.delayed) > 0 {
		want.NextMS = luatest.CeilMS(p.m.delayed[0].due*1000 - p.now)
	} else {
		p.m.serial = 0
	}
	require.Equal(t, want, got, "%s", p.story())
	all, err := p.s.Client.XRange(context.Background(), p.keys().Log, "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, all, len(p.m.log), "%s", p.story())
	for i := range p.m.log {
		p.m.log[i].id = cmp.Or(p.m.log[i].id, all[i].ID)
	}
}

func (p *streamRun) open(t *rapid.T, group, from string) {
	if from == "known" {
		from = cmp.Or(p.m.known[group], "$")
	}
	p.say("open %s from %s", group, from)
	got := luatest.Call(t, p.s, stream.OpenScript, p.now, stream.OpenIn{Keys: p.keys(), GroupKeys: p.of(group), Group: group, From: from})
	if g := p.m.groups[group]; g != nil {
		require.Equal(t, stream.OpenOut{Last: g.last}, got, "%s", p.story())
		return
	}
	end, start := "0-0", from
	if n := len(p.m.log); n > 0 {
		end = p.m.log[n-1].id
	}
	if known := p.m.known[group]; known != "" && (start == "$" || compareIDs(start, known) < 0) {
		start = known
	}
	if start == "$" {
		// If the last messages of the stream were deleted, Redis replies with a later id.
		require.GreaterOrEqual(t, compareIDs(got.Last, end), 0, "%s", p.story())
		start = got.Last
	} else if compareIDs(start, end) > 0 {
		start = end
	}
	require.Equal(t, stream.OpenOut{Created: true, Last: start}, got, "%s", p.story())
	p.m.groups[group] = &modelGroup{last: start, pending: map[string]*modelDelivery{}}
	p.m.known[group] = start
}

// deliver reads new messages as the readers of sidecars do.
func (p *streamRun) deliver(t *rapid.T, group, consumer string, count int64) {
	g := p.m.groups[group]
	if g == nil {
		return
	}
	p.say("deliver %d to %s of %s", count, consumer, group)
	got := p.s.Deliver(t, p.keys().Log, group, consumer, count)
	for _, m := range p.m.log {
		if count > 0 && compareIDs(m.id, g.last) > 0 {
			require.NotEmpty(t, got, "%s", p.story())
			require.Equal(t, m.id, got[0].ID, "%s", p.story())
			got, count, g.last = got[1:], count-1, m.id
			g.pending[m.id] = &modelDelivery{consumer: consumer, attempts: 1}
		}
	}
	require.Empty(t, got, "%s", p.story())
}

// taking is one run of ClaimScript in the model.
type taking struct {
	p        *streamRun
	g        *modelGroup
	group    string
	consumer string
	most     int64
	count    int64
	out      stream.ClaimOut
}

func (x *taking) take(id string) bool {
	m, d, message := &x.p.m, x.g.pending[id], x.p.m.of(id)
	switch {
	case message == nil:
		x.out.Trimmed++
		m.trimmed++
		delete(x.g.pending, id)
	case message.only != "" && message.only != x.group:
		delete(x.g.pending, id)
	case d.attempts >= x.most:
		x.out.Dead++
		m.dead = append(m.dead, modelLetter{message.text, id, x.group, "max_deliveries", d.attempts})
		delete(x.g.pending, id)
	case int64(len(x.out.Claimed)) < x.count:
		*d = modelDelivery{consumer: x.consumer, attempts: d.attempts + 1}
		x.out.Claimed = append(x.out.Claimed, stream.Claimed{ID: id, Attempt: d.attempts, Message: message.text, Only: message.only})
	default:
		x.out.More = true
		return false
	}
	delete(m.retry[x.group], id)
	return true
}

func (p *streamRun) claim(t *rapid.T, group, consumer string, most, count int64, after string) {
	p.say("claim %d of %s for %s, at most %d deliveries, after %q", count, group, consumer, most, after)
	got := luatest.Call(t, p.s, stream.ClaimScript, p.now, stream.ClaimIn{
		Keys: p.keys(), GroupKeys: p.of(group), Group: group, Consumer: consumer,
		VisibilityMS: visible, MaxDeliveries: most, Count: count, After: after,
	})
	g := p.m.groups[group]
	if g == nil {
		require.Equal(t, stream.ClaimOut{Missing: true}, got, "%s", p.story())
		return
	}
	p.m.known[group] = g.last
	x := &taking{p: p, g: g, group: group, consumer: consumer, most: most, count: count, out: stream.ClaimOut{Last: g.last, RetryMS: -1}}
	retry := p.m.retry[group]
	over := slices.DeleteFunc(slices.Collect(maps.Keys(retry)), func(id string) bool { return retry[id] > p.now })
	slices.SortFunc(over, func(a, b string) int { return cmp.Or(cmp.Compare(retry[a], retry[b]), cmp.Compare(a, b)) })
	for _, id := range over {
		if g.pending[id] == nil {
			delete(retry, id)
			continue
		}
		x.take(id)
	}
	last, left := after, false
	for _, id := range slices.SortedFunc(maps.Keys(g.pending), compareIDs) {
		if !g.pending[id].idle || after != "" && compareIDs(id, after) <= 0 {
			continue
		}
		if _, waits := retry[id]; !waits && !x.take(id) && !left {
			left = true
			if count > 0 {
				x.out.Next = last
			}
		}
		last = id
	}
	for _, at := range retry {
		if ms := max(luatest.CeilMS(at-p.now), 0); x.out.RetryMS < 0 || ms < x.out.RetryMS {
			x.out.RetryMS = ms
		}
	}
	require.Equal(t, x.out, got, "%s", p.story())
}

func (p *streamRun) ack(t *rapid.T, group, id string) {
	p.say("ack %s of %s", id, group)
	want := false
	if g := p.m.groups[group]; g != nil && g.pending[id] != nil {
		// The embedded store does not count a message that was deleted.
		want = p.s.Name != "embedded" || p.m.of(id) != nil
		delete(g.pending, id)
	}
	delete(p.m.retry[group], id)
	got := luatest.Call(t, p.s, stream.AckScript, p.now, stream.AckIn{Keys: p.keys(), GroupKeys: p.of(group), Group: group, ID: id})
	require.Equal(t, want, got, "%s", p.story())
}

func (p *streamRun) nack(t *rapid.T, group, id string, delay, most int64, dead bool, reason string) {
	p.say("nack %s of %s for %dms, at most %d, dead %t", id, group, delay, most, dead)
	want, asked := stream.NackOut{}, delay
	if g := p.m.groups[group]; g != nil && g.pending[id] != nil {
		d, message := g.pending[id], p.m.of(id)
		switch {
		case message == nil:
			p.m.trimmed++
			delete(g.pending, id)
			delete(p.m.retry[group], id)
		case dead || most > 0 && d.attempts >= most:
			want = stream.NackOut{Nacked: true, Dead: true, Attempt: d.attempts}
			why := "max_deliveries"
			if dead {
				why = "nack"
			}
			p.m.dead = append(p.m.dead, modelLetter{message.text, id, group, cmp.Or(reason, why), d.attempts})
			delete(g.pending, id)
			delete(p.m.retry[group], id)
		default:
			if delay < 0 {
				delay = 1000
				for n := int64(1); n < d.attempts && delay < 300_000; n++ {
					delay *= 2
				}
				delay = min(delay, 300_000)
			}
			want = stream.NackOut{Nacked: true, DelayMS: delay, Attempt: d.attempts}
			p.waits(group, id, p.now+delay*1000)
		}
	}
	got := luatest.Call(t, p.s, stream.NackScript, p.now, stream.NackIn{
		Keys: p.keys(), GroupKeys: p.of(group), Group: group, ID: id, DelayMS: asked, MaxDeliveries: most, Dead: dead, Reason: reason,
	})
	require.Equal(t, want, got, "%s", p.story())
}

func (p *streamRun) waits(group, id string, until int64) {
	if p.m.retry[group] == nil {
		p.m.retry[group] = map[string]int64{}
	}
	p.m.retry[group][id] = until
}

func (p *streamRun) held(group, consumer, id string) stream.HeldIn {
	return stream.HeldIn{Keys: p.keys(), GroupKeys: p.of(group), Group: group, Consumer: consumer, ID: id}
}

// stateOf returns the state of a message for a consumer.
func (p *streamRun) stateOf(group, consumer, id string) (stream.State, *modelDelivery) {
	g := p.m.groups[group]
	switch {
	case g == nil || g.pending[id] == nil:
		return stream.StateGone, nil
	case g.pending[id].consumer != consumer:
		return stream.StateTaken, nil
	default:
		return stream.StateDone, g.pending[id]
	}
}

func (p *streamRun) extend(t *rapid.T, group, consumer, id string) {
	p.say("extend %s of %s for %s", id, group, consumer)
	want, d := p.stateOf(group, consumer, id)
	if _, waits := p.m.retry[group][id]; waits {
		want = stream.StateGone
	} else if d != nil {
		d.idle = false
		p.leave(group, id)
	}
	require.Equal(t, want, luatest.Call(t, p.s, stream.ExtendScript, p.now, p.held(group, consumer, id)), "%s", p.story())
}

// leave removes a pending message that was deleted, as XCLAIM does in Redis.
func (p *streamRun) leave(group, id string) {
	if p.m.of(id) == nil && p.s.Name != "embedded" {
		delete(p.m.groups[group].pending, id)
	}
}

func (p *streamRun) giveBack(t *rapid.T, group, consumer, id string, untouched bool) {
	p.say("return %s of %s by %s, untouched %t", id, group, consumer, untouched)
	want, d := p.stateOf(group, consumer, id)
	if _, waits := p.m.retry[group][id]; d != nil && !waits {
		p.waits(group, id, p.now)
		if untouched {
			d.attempts, d.idle = max(d.attempts-1, 0), false
			p.leave(group, id)
		}
	}
	got := luatest.Call(t, p.s, stream.ReturnScript, p.now, stream.ReturnIn{HeldIn: p.held(group, consumer, id), Untouched: untouched, Broadcast: "b"})
	require.Equal(t, want, got, "%s", p.story())
}

// disturb does what scripts do not: it lets messages become idle, and changes the stream as other clients would.
func (p *streamRun) disturb(t *rapid.T, group, id string) {
	ctx, k := context.Background(), p.keys()
	g := p.m.groups[group]
	switch what := rapid.IntRange(0, 19).Draw(t, "disturb"); {
	case what == 0:
		p.say("the stream is deleted")
		p.s.Del(t, k.Log)
		p.m.log, p.m.groups = nil, map[string]*modelGroup{}
	case what == 1 && g != nil:
		p.say("%s is deleted", group)
		require.NoError(t, p.s.Client.XGroupDestroy(ctx, k.Log, group).Err())
		delete(p.m.groups, group)
	case what < 4 && p.m.of(id) != nil:
		p.say("%s is deleted", id)
		require.NoError(t, p.s.Client.XDel(ctx, k.Log, id).Err())
		p.m.log = slices.DeleteFunc(p.m.log, func(m modelMessage) bool { return m.id == id })
	case what == 4, what == 5:
		only := rapid.SampledFrom([]string{"g", "h"}).Draw(t, "only")
		p.say("a dead letter of %s comes back", only)
		p.s.Apart(t)
		back, err := p.s.Client.XAdd(ctx, &redis.XAddArgs{Stream: k.Log, Values: []string{"m", "back", "g", only}}).Result()
		require.NoError(t, err)
		p.m.log = append(p.m.log, modelMessage{id: back, text: "back", only: only})
	case what < 10 && g != nil && g.pending[id] != nil && p.m.of(id) != nil:
		d := g.pending[id]
		d.attempts, d.idle = rapid.Int64Range(8, 30).Draw(t, "attempts"), false
		p.say("%s has had %d attempts", id, d.attempts)
		require.NoError(t, p.s.Client.Do(ctx, "XCLAIM", k.Log, group, d.consumer, 0, id, "RETRYCOUNT", d.attempts, "JUSTID").Err())
	case what > 3 && g != nil:
		for id, d := range g.pending {
			if p.m.of(id) != nil && rapid.Bool().Draw(t, "idle") {
				d.idle = true
				p.s.Idle(t, k.Log, group, id, hidden)
			}
		}
		p.say("of %s are idle: %v", group, g.pending)
	}
}

// same requires that all keys in Redis equal the model.
func (p *streamRun) same(t *rapid.T) {
	ctx, k := context.Background(), p.keys()
	var log []modelMessage
	all, err := p.s.Client.XRange(ctx, k.Log, "-", "+").Result()
	require.NoError(t, err)
	for _, x := range all {
		only, _ := x.Values["g"].(string)
		log = append(log, modelMessage{x.ID, x.Values["m"].(string), only})
	}
	require.Equal(t, append([]modelMessage(nil), p.m.log...), log, "%s", p.story())
	var dead []modelLetter
	all, err = p.s.Client.XRange(ctx, k.Dead, "-", "+").Result()
	require.NoError(t, err)
	for _, x := range all {
		attempts, err := strconv.ParseInt(x.Values["attempts"].(string), 10, 64)
		require.NoError(t, err)
		text := func(field string) string { return x.Values[field].(string) }
		dead = append(dead, modelLetter{text("m"), text("id"), text("group"), text("reason"), attempts})
	}
	require.Equal(t, p.m.dead, dead, "%s", p.story())
	for name, g := range p.m.groups {
		pending := map[string]modelDelivery{}
		for _, x := range p.s.Pending(t, k.Log, name) {
			pending[x.ID] = modelDelivery{x.Consumer, x.RetryCount, x.Idle.Milliseconds() >= visible}
		}
		want := map[string]modelDelivery{}
		for id, d := range g.pending {
			want[id] = *d
		}
		require.Equal(t, want, pending, "%s: %s", name, p.story())
	}
	for _, name := range []string{"g", "h"} {
		retry := map[string]int64{}
		waiting, err := p.s.Client.ZRangeWithScores(ctx, p.of(name).Retry, 0, -1).Result()
		require.NoError(t, err)
		for _, z := range waiting {
			retry[z.Member.(string)] = int64(z.Score)
		}
		want := map[string]int64{}
		maps.Copy(want, p.m.retry[name])
		require.Equal(t, want, retry, "%s: %s", name, p.story())
	}
	known := map[string]string{}
	maps.Copy(known, p.m.known)
	if p.m.trimmed > 0 {
		known[""] = strconv.FormatInt(p.m.trimmed, 10)
	}
	require.Equal(t, known, p.s.Client.HGetAll(ctx, k.Groups).Val(), "%s", p.story())
}

func (p *streamRun) clear(t *rapid.T) {
	k, d := p.keys(), p.delayedKeys()
	for _, key := range []string{k.Log, k.Dead, k.Groups, d.Due, d.Delayed, p.of("g").Retry, p.of("h").Retry} {
		p.s.Del(t, key)
	}
	for id := range p.m.dedupes {
		p.s.Del(t, p.dedupe(id))
	}
}

// anyID draws the id of a message, which may not exist.
func (p *streamRun) anyID(t *rapid.T, group string) string {
	var ids []string
	for _, m := range p.m.log {
		ids = append(ids, m.id)
	}
	if g := p.m.groups[group]; g != nil {
		for range 3 {
			ids = slices.AppendSeq(ids, maps.Keys(g.pending))
		}
	}
	if len(ids) == 0 {
		return "1-1"
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "id")
}

func (p *streamRun) step(t *rapid.T) {
	group := rapid.SampledFrom([]string{"g", "g", "g", "h"}).Draw(t, "group")
	consumer := rapid.SampledFrom([]string{"me", "you"}).Draw(t, "consumer")
	most, id := rapid.Int64Range(1, 4).Draw(t, "max deliveries"), p.anyID(t, group)
	switch rapid.IntRange(0, 17).Draw(t, "step") {
	case 0, 1:
		p.publish(t, rapid.SampledFrom([]string{"", "text", "\x00\xff "}).Draw(t, "text"),
			rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(t, "dedupe"), rapid.SampledFrom([]int64{0, 0, 0, 1, 1000}).Draw(t, "delay"))
	case 2:
		p.due(t)
	case 3:
		p.open(t, group, rapid.SampledFrom([]string{"0-0", "$", "known", id}).Draw(t, "from"))
	case 4, 5, 6:
		p.deliver(t, group, consumer, rapid.Int64Range(1, 5).Draw(t, "count"))
	case 7, 8:
		after := ""
		if rapid.IntRange(0, 3).Draw(t, "behind") == 0 {
			after = id
		}
		p.claim(t, group, consumer, most, rapid.Int64Range(0, 4).Draw(t, "room"), after)
	case 9:
		p.ack(t, group, id)
	case 10, 11:
		p.nack(t, group, id, rapid.SampledFrom([]int64{-1, 0, 5000}).Draw(t, "delay"), rapid.SampledFrom([]int64{0, most}).Draw(t, "most"),
			rapid.IntRange(0, 5).Draw(t, "dead") == 0, rapid.SampledFrom([]string{"", "\xff why"}).Draw(t, "reason"))
	case 12:
		p.extend(t, group, consumer, id)
	case 13:
		p.giveBack(t, group, consumer, id, rapid.Bool().Draw(t, "untouched"))
	case 14, 15:
		p.disturb(t, group, id)
	default:
		p.pass(t)
	}
}

func TestStreamEqualsTheModel(t *testing.T) {
	t.Parallel()
	luatest.EachStore(t, func(t *testing.T, s *luatest.Store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			p := &streamRun{s: s, name: s.Key(fmt.Sprintf("s%d", run)), now: luatest.Epoch, m: modelStream{
				groups: map[string]*modelGroup{}, known: map[string]string{}, retry: map[string]map[string]int64{}, dedupes: map[string]modelDedupe{},
			}}
			defer p.clear(rt)
			// Most runs begin with a pending message.
			p.open(rt, "g", "0-0")
			for range rapid.IntRange(0, 6).Draw(rt, "messages") {
				p.publish(rt, "first", "", 0)
			}
			p.deliver(rt, "g", "me", 5)
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				p.step(rt)
				p.same(rt)
			}
		})
	})
}

func TestTopologyStreamEqualsTheModel(t *testing.T) { TestStreamEqualsTheModel(t) }
