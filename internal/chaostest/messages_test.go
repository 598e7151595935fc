package chaostest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coxswain-sidecar/coxswain/internal/chaostest"
)

// handled returns a handling for group g of a message of stream s, which was not ended.
func handled(id string, attempt int64, call, begin int) chaostest.Handling {
	return chaostest.Handling{
		Client: "c", Stream: "s", Group: "g", ID: id, Message: "of " + id, Attempt: attempt,
		Call: time.Duration(call) * ms, Begin: time.Duration(begin) * ms, EndCall: chaostest.Never, EndReturn: chaostest.Never,
	}
}

// by ends a handling 1 ms after it began. The answer comes another 1 ms later.
func by(h chaostest.Handling, end chaostest.Kind, o chaostest.Outcome) chaostest.Handling {
	h.End, h.Outcome, h.EndCall, h.EndReturn = end, o, h.Begin+ms, h.Begin+2*ms
	if o == chaostest.Unknown {
		h.EndReturn = chaostest.Never
	}
	return h
}

// peace is a run in which nothing was broken: a and b were acknowledged, and the poison
// c! is a dead letter after two attempts.
func peace() *chaostest.Messages {
	acked := func(id string, call int) chaostest.Handling {
		return by(handled(id, 1, call, call+1), chaostest.Ack, chaostest.Acked)
	}
	nacked := func(attempt int64, call int) chaostest.Handling {
		return by(handled("c!", attempt, call, call+1), chaostest.Nack, chaostest.Nacked)
	}
	return &chaostest.Messages{
		Groups: []string{"g"}, MaxDeliveries: 2,
		Posted: []chaostest.Posted{
			{Stream: "s", ID: "a", Call: 1 * ms, Return: 2 * ms},
			{Stream: "s", ID: "b", Call: 3 * ms, Return: 4 * ms},
			{Stream: "s", ID: "c!", Call: 5 * ms, Return: 6 * ms},
			{Stream: "s", ID: "perhaps", Call: 7 * ms, Return: chaostest.Never},
		},
		Handled: []chaostest.Handling{acked("a", 10), acked("b", 20), nacked(1, 30), nacked(2, 40)},
		Logs:    map[string][]string{"s": {"a", "b", "c!"}},
		Letters: []chaostest.Letter{{Stream: "s", Group: "g", ID: "c!", Attempts: 2}},
		Lossy:   chaostest.Span{From: chaostest.Never, Till: chaostest.Never},
	}
}

func TestWhatStreamsPromise(t *testing.T) {
	t.Parallel()
	again := func(m *chaostest.Messages, h chaostest.Handling) { m.Handled = append(m.Handled, h) }
	ackedAt := func(id string, attempt int64, call int) chaostest.Handling {
		return by(handled(id, attempt, call, call+1), chaostest.Ack, chaostest.Acked)
	}
	span := func(from, till int) chaostest.Span {
		return chaostest.Span{From: time.Duration(from) * ms, Till: time.Duration(till) * ms}
	}
	for name, c := range map[string]struct {
		wrong string // empty = nothing is
		with  func(*chaostest.Messages)
	}{
		"peace":                {"", func(*chaostest.Messages) {}},
		"never dealt with":     {"b of s, group g: lost", func(m *chaostest.Messages) { m.Handled = slices.Delete(m.Handled, 1, 2) }},
		"only begun":           {"b of s, group g: lost", func(m *chaostest.Messages) { m.Handled[1] = handled("b", 1, 20, 21) }},
		"acknowledged in vain": {"b of s, group g: lost", func(m *chaostest.Messages) { m.Handled[1] = by(m.Handled[1], chaostest.Ack, chaostest.Expired) }},
		"or repeated": {"", func(m *chaostest.Messages) {
			m.Handled[1] = by(m.Handled[1], chaostest.Ack, chaostest.Expired)
			m.Harm = []chaostest.Span{span(20, 21)}
		}},
		"on another connection": {"", func(m *chaostest.Messages) {
			m.Handled[1] = by(m.Handled[1], chaostest.Ack, chaostest.Expired)
			m.Handled[1].Cut = true
		}},
		"by one group of two":    {"a of s, group h: lost", func(m *chaostest.Messages) { m.Groups = []string{"g", "h"} }},
		"an ack without answer":  {"", func(m *chaostest.Messages) { m.Handled[1] = by(m.Handled[1], chaostest.Ack, chaostest.Unknown) }},
		"not in the stream":      {"b of s: its publisher was answered", func(m *chaostest.Messages) { m.Logs["s"] = []string{"a", "c!"} }},
		"a stream not emptied":   {"", func(m *chaostest.Messages) { m.Logs, m.Letters = nil, nil }},
		"in the stream twice":    {"a of s, group : it is in the stream 2 times", func(m *chaostest.Messages) { m.Logs["s"] = append(m.Logs["s"], "a") }},
		"from nobody":            {"z of s, group : nobody published it", func(m *chaostest.Messages) { m.Logs["s"] = append(m.Logs["s"], "z"); again(m, ackedAt("z", 1, 60)) }},
		"lost by Redis":          {"", func(m *chaostest.Messages) { m.Logs["s"], m.Lossy = []string{"a", "c!"}, span(4, 9) }},
		"lost after Redis did":   {"b of s: its publisher was answered", func(m *chaostest.Messages) { m.Logs["s"], m.Lossy = []string{"a", "c!"}, span(1, 2) }},
		"after its ack":          {"a of s, group g: delivered after its ack", func(m *chaostest.Messages) { again(m, handled("a", 2, 60, 61)) }},
		"asked for before":       {"", func(m *chaostest.Messages) { again(m, handled("a", 2, 12, 61)) }},
		"an ack that was lost":   {"", func(m *chaostest.Messages) { again(m, ackedAt("a", 2, 60)); m.Lossy = span(14, 50) }},
		"lost before that":       {"a of s, group g: delivered after its ack", func(m *chaostest.Messages) { again(m, ackedAt("a", 2, 60)); m.Lossy = span(1, 5) }},
		"lost after that":        {"a of s, group g: delivered after its ack", func(m *chaostest.Messages) { again(m, ackedAt("a", 2, 60)); m.Lossy = span(70, 80) }},
		"a duplicate":            {"a of s, group g: a duplicate", func(m *chaostest.Messages) { again(m, by(handled("a", 2, 12, 60), chaostest.Ack, chaostest.Expired)) }},
		"a duplicate after harm": {"", func(m *chaostest.Messages) { again(m, ackedAt("a", 2, 11)); m.Harm = []chaostest.Span{span(9, 10)} }},
		"harm at another time": {"a of s, group g: a duplicate", func(m *chaostest.Messages) {
			again(m, ackedAt("a", 2, 12))
			m.Harm = []chaostest.Span{span(8, 9), span(60, 70)}
		}},
		"after a kill": {"", func(m *chaostest.Messages) {
			m.Handled[0] = by(m.Handled[0], chaostest.Ack, chaostest.Unknown)
			again(m, ackedAt("a", 2, 60))
		}},
		"while it was given back": {"", func(m *chaostest.Messages) {
			m.Handled[0].Cut = true
			again(m, by(handled("a", 2, 12, 60), chaostest.Ack, chaostest.Expired))
		}},
		"after a nack": {"", func(m *chaostest.Messages) {
			m.Handled[0] = by(m.Handled[0], chaostest.Nack, chaostest.Nacked)
			again(m, ackedAt("a", 2, 60))
		}},
		"dead, and no poison": {"b of s, group g: a dead letter that is no poison", func(m *chaostest.Messages) {
			m.Letters = append(m.Letters, chaostest.Letter{Stream: "s", Group: "g", ID: "b", Attempts: 2})
		}},
		"poison that is alive": {"c! of s, group g: poison that is a dead letter 0 times", func(m *chaostest.Messages) { m.Letters = nil }},
		"dead twice":           {"c! of s, group g: poison that is a dead letter 2 times", func(m *chaostest.Messages) { m.Letters = append(m.Letters, m.Letters[0]) }},
		"dead too early":       {"c! of s, group g: a dead letter after another number", func(m *chaostest.Messages) { m.Letters[0].Attempts = 1 }},
		"an attempt too many":  {"c! of s, group g: delivered more than 2 times", func(m *chaostest.Messages) { again(m, by(handled("c!", 3, 60, 61), chaostest.Nack, chaostest.Nacked)) }},
		"an attempt twice":     {"c! of s, group g: one attempt was delivered twice", func(m *chaostest.Messages) { again(m, by(handled("c!", 2, 60, 61), chaostest.Nack, chaostest.Nacked)) }},
		"an attempt of nobody": {"c! of s, group g: an attempt was counted that no consumer had", func(m *chaostest.Messages) { m.Handled = slices.Delete(m.Handled, 2, 3) }},
		"the last of nobody":   {"c! of s, group g: an attempt was counted that no consumer had", func(m *chaostest.Messages) { m.Handled = slices.Delete(m.Handled, 3, 4) }},
		"an attempt of a dead": {"", func(m *chaostest.Messages) {
			m.Handled = slices.Delete(m.Handled, 2, 3)
			m.Cuts = []chaostest.Span{span(35, 36)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := peace()
			c.with(m)
			_, found := m.AtLeastOnce()
			if c.wrong == "" {
				require.Empty(t, found)
				return
			}
			require.True(t, slices.ContainsFunc(found, func(v chaostest.Violation) bool { return strings.Contains(v.String(), c.wrong) }), "%v", found)
		})
	}
}

func TestTheFiguresOfStreams(t *testing.T) {
	t.Parallel()
	m := peace()
	f, _ := m.AtLeastOnce()
	require.Equal(t, chaostest.Figures{Posted: 4, Handled: 4, Nacked: 2, Dead: 1}, f)

	m.Logs["s"] = []string{"b", "c!"}
	m.Lossy = chaostest.Span{From: 15 * ms, Till: 50 * ms}
	m.Harm = []chaostest.Span{m.Lossy}
	m.Handled = append(m.Handled,
		handled("b", 2, 16, 17), by(handled("b", 3, 60, 61), chaostest.Ack, chaostest.Acked), // the first met harm
		by(handled("a", 2, 60, 61), chaostest.Ack, chaostest.Acked)) // whose ack was lost
	f, found := m.AtLeastOnce()
	require.Empty(t, found)
	require.Equal(t, chaostest.Figures{Posted: 4, Lost: 1, Handled: 7, Nacked: 2, Duplicates: 3, InFlight: 1, Harmed: 1, Forgotten: 1, Dead: 1}, f)
}

func TestTheJournalOfAConsumerThatWasKilled(t *testing.T) {
	t.Parallel()
	of := chaostest.Handling{Client: "c", Stream: "s", Group: "g"}
	lines := "begin 1 1000000 2000000 1 7-0 a\nend 1 ack 3000000\nbegin 2 1000000 2000000 3 8-0 b!\ntold 1 acked 4000000\nleft 5000000 6000000\nend 2 nack 7000000\ntold 2 nacked 8000000\nbegin 3 9000000 9000000 2 9-0 c\nend 3 ack 9000000\nbegin 4 1000000 8"
	handled, left, err := chaostest.ReadJournal(strings.NewReader(lines), of)
	require.NoError(t, err)
	require.Equal(t, []chaostest.Span{{From: 5 * ms, Till: 6 * ms}}, left)
	require.Equal(t, []chaostest.Handling{
		{
			Client: "c", Stream: "s", Group: "g", ID: "a", Message: "7-0", Attempt: 1, Call: ms, Begin: 2 * ms,
			End: chaostest.Ack, Outcome: chaostest.Acked, EndCall: 3 * ms, EndReturn: 4 * ms,
		},
		{
			Client: "c", Stream: "s", Group: "g", ID: "b!", Message: "8-0", Attempt: 3, Call: ms, Begin: 2 * ms,
			End: chaostest.Nack, Outcome: chaostest.Nacked, EndCall: 7 * ms, EndReturn: 8 * ms,
		},
		{
			Client: "c", Stream: "s", Group: "g", ID: "c", Message: "9-0", Attempt: 2, Call: 9 * ms, Begin: 9 * ms,
			End: chaostest.Ack, Outcome: chaostest.Unknown, EndCall: 9 * ms, EndReturn: chaostest.Never,
		},
	}, handled)
	for _, wrong := range []string{"\n", "told 1 acked 4\n", "begin 2 1 2 1 7-0 a\n", "begin 1 1 2 x 7-0 a\n", "left 1\n", "ended 1 2\n"} {
		_, _, err := chaostest.ReadJournal(strings.NewReader(wrong), of)
		require.Error(t, err, wrong)
	}
}
