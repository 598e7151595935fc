package chaostest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Posted is a message that a producer published. Its body is its id, which the producer chose.
type Posted struct {
	Stream, ID   string
	Call, Return time.Duration // Return is Never when it is not known whether the message is there
}

func (p Posted) String() string {
	return fmt.Sprintf("%s..%s %s published to %s", at(p.Call), at(p.Return), p.ID, p.Stream)
}

// poisonous is the end of the ids of messages that no consumer acknowledges.
const poisonous = "!"

// IsPoison reports whether a message of this id is never acknowledged.
func IsPoison(id string) bool { return strings.HasSuffix(id, poisonous) }

// Handling is one handling of a message by a consumer, and how the consumer ended it.
type Handling struct {
	Client, Stream, Group, ID string
	// Message is the id that the message got in the stream; ID is that of its producer.
	Message string
	Attempt int64
	// Call is when the consumer asked for messages, by a fetch or by a subscription; the message was not delivered to
	// it before. Begin is when it began to work on the message.
	Call, Begin time.Duration
	// End is Ack, Nack, or empty if the consumer sent neither. EndReturn is Never, and Outcome Unknown, if there was no
	// answer.
	End                Kind
	Outcome            Outcome
	EndCall, EndReturn time.Duration
	// Cut reports that the connection was closed during the handling, so that the message was given back.
	Cut bool
}

func (h Handling) String() string {
	s := fmt.Sprintf("%s..%s %s of %s (%s) to %s of group %s, attempt %d", at(h.Call), at(h.Begin), h.ID, h.Stream, h.Message, h.Client, h.Group, h.Attempt)
	if h.End != "" {
		s += fmt.Sprintf("; %s..%s %s: %s", at(h.EndCall), at(h.EndReturn), h.End, h.Outcome)
	}
	if h.Cut {
		s += "; its connection was closed"
	}
	return s
}

// unheard reports whether the handling ended, or may have ended, without an answer.
func (h Handling) unheard() bool { return h.End == "" || h.Outcome == Unknown || h.Cut }

// met reports whether there was a fault between its call and its answer.
func (h Handling) met(harm []Span) bool { return meets(harm, Span{h.Call, h.EndReturn}) }

// Letter is a dead letter.
type Letter struct {
	Stream, Group, ID string
	Attempts          int64
}

func (l Letter) String() string {
	return fmt.Sprintf("dead letter %s of %s for group %s after %d attempts", l.ID, l.Stream, l.Group, l.Attempts)
}

// Span is an interval of time, with both ends included.
type Span struct{ From, Till time.Duration }

// Messages is the history of the messages of streams whose groups have nothing left to do.
type Messages struct {
	Groups        []string
	MaxDeliveries int64
	Posted        []Posted
	Handled       []Handling
	// Logs has, by stream, the ids of all messages that are in it at the end. A stream that is missing here was not
	// finished; its messages at the end are not checked.
	Logs    map[string][]string
	Letters []Letter
	// Harm has the times of faults that may have ended a delivery: a sidecar was killed, or a server did not reply. A
	// killed consumer does not count, since it ends no delivery of another one.
	Harm []Span
	// Cuts has the times in which consumers were killed, or left: messages that they had been sent then, but on which
	// they had not begun to work, are not in Handled.
	Cuts []Span
	// Lossy is the time in which Redis may have lost writes, which includes earlier ones that it had answered and not
	// replicated. Its From is Never if Redis lost none.
	Lossy Span
}

// Figures count what a run of streams consisted of.
type Figures struct {
	// Posted counts the published messages; Lost counts those of them that were answered and are not in the stream.
	Posted, Lost int
	// Handled counts all handlings, of all groups. Of these, Nacked were given back for another attempt; Duplicates are
	// those beyond the first of a message that were not due to a nack; InFlight got no answer, since the consumer was
	// killed or its connection closed; and Harmed are the others during which there was a fault.
	Handled, Nacked, Duplicates, InFlight, Harmed int
	// Forgotten counts acknowledged messages that were delivered again because Redis lost the ack.
	Forgotten int
	Dead      int
}

func (f Figures) String() string {
	return fmt.Sprintf("published %d, lost by Redis %d, processed %d, duplicates %d, in flight at kills %d, at faults %d, ",
		f.Posted, f.Lost, f.Handled, f.Duplicates, f.InFlight, f.Harmed) +
		fmt.Sprintf("nacked %d, acks lost by Redis %d, dead %d", f.Nacked, f.Forgotten, f.Dead)
}

// ofGroup identifies a message within a group. id is its producer's id or, where that is meant, the id in the stream.
type ofGroup struct{ stream, group, id string }

// AtLeastOnce reports messages for which a promise to a group was broken:
//
//   - Each message in the stream is there once, and was acknowledged by each group or is a dead letter. A message whose
//     publisher was answered is there, unless Redis lost it.
//   - No message is delivered after its ack was answered.
//   - At most one delivery of a message ends with an ack and without a fault, so that there are no more duplicates than
//     deliveries that were in flight at a kill or a fault.
//   - The dead letters are exactly the poison, after max_deliveries attempts.
//
// Before and after Lossy this holds without exception.
func (m *Messages) AtLeastOnce() (Figures, []Violation) {
	harm := merged(m.Harm)
	byMessage := make(map[ofGroup][]Handling)
	for _, h := range m.Handled {
		k := ofGroup{h.Stream, h.Group, h.Message}
		byMessage[k] = append(byMessage[k], h)
	}
	f := Figures{Posted: len(m.Posted), Handled: len(m.Handled), Dead: len(m.Letters)}
	found := m.kept(harm, &f)
	cuts := merged(slices.Concat(m.Cuts, harm))
	for _, of := range byMessage {
		slices.SortFunc(of, func(a, b Handling) int { return cmp.Compare(a.Begin, b.Begin) })
		found = append(found, m.afterAck(of)...)
		found = append(found, m.inPeace(of, harm, &f)...)
		if IsPoison(of[0].ID) {
			found = append(found, m.attempts(of, cuts)...)
		}
	}
	found = append(found, m.buried()...)
	slices.SortFunc(found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	return f, found
}

func (Messages) broken(h Handling, what string, part ...string) Violation {
	return Violation{Rule: "stream", What: fmt.Sprintf("%s of %s, group %s: %s", h.ID, h.Stream, h.Group, what), Part: part}
}

// kept checks the messages that are in the streams at the end.
func (m *Messages) kept(harm []Span, f *Figures) []Violation {
	done := make(map[ofGroup]bool)
	tried := make(map[ofGroup][]string)
	for _, h := range m.Handled {
		k := ofGroup{h.Stream, h.Group, h.ID}
		// An ack without an answer may have been carried out: since no message is left to do, it was if there is no
		// other ack. An ack that was repeated during a fault may be answered that the delivery has ended, because an
		// earlier try was carried out.
		done[k] = done[k] || h.End == Ack && (h.Outcome == Acked || h.unheard() || h.met(harm))
		if len(tried[k]) < 10 {
			tried[k] = append(tried[k], h.String())
		}
	}
	for _, l := range m.Letters {
		done[ofGroup{l.Stream, l.Group, l.ID}] = true
	}
	var found []Violation
	there := make(map[ofGroup]int)
	posted := make(map[ofGroup]bool)
	for _, p := range m.Posted {
		posted[ofGroup{p.Stream, "", p.ID}] = true
	}
	for stream, ids := range m.Logs {
		for _, id := range ids {
			k := ofGroup{stream, "", id}
			there[k]++
			if !posted[k] {
				found = append(found, m.broken(Handling{Stream: stream, ID: id}, "nobody published it"))
			}
		}
	}
	for k, n := range there {
		if n > 1 {
			found = append(found, m.broken(Handling{Stream: k.stream, ID: k.id}, fmt.Sprintf("it is in the stream %d times", n)))
		}
		for _, group := range m.Groups {
			if of := (ofGroup{k.stream, group, k.id}); !done[of] {
				found = append(found, m.broken(Handling{Stream: k.stream, Group: group, ID: k.id}, "lost: it is in the stream, and nobody has dealt with it", tried[of]...))
			}
		}
	}
	for _, p := range m.Posted {
		if _, emptied := m.Logs[p.Stream]; !emptied || p.Return == Never || there[ofGroup{p.Stream, "", p.ID}] > 0 {
			continue
		}
		f.Lost++
		if m.Lossy.From == Never || p.Call > m.Lossy.Till {
			what := p.ID + " of " + p.Stream + ": its publisher was answered, and it is not in the stream"
			found = append(found, Violation{Rule: "stream", What: what, Part: texts(p)})
		}
	}
	return found
}

// afterAck reports a message that was delivered although its ack had been answered.
func (m *Messages) afterAck(of []Handling) []Violation {
	for _, h := range of {
		if h.Outcome != Acked {
			continue
		}
		for _, other := range of {
			if other.Call > h.EndReturn && (other.Begin < m.Lossy.From || h.EndCall > m.Lossy.Till) {
				return []Violation{m.broken(h, "delivered after its ack was answered", texts(h, other)...)}
			}
		}
	}
	return nil
}

// inPeace reports a message that was acknowledged more than once without a fault, and adds its handlings to the
// figures.
func (m *Messages) inPeace(of []Handling, harm []Span, f *Figures) []Violation {
	var calm, before, behind []Handling
	nacked := 0
	for _, h := range of {
		switch {
		case h.End == Nack:
			nacked++
		case h.unheard():
			f.InFlight++
		case h.met(harm):
			f.Harmed++
		default:
			calm = append(calm, h)
			if h.EndReturn < m.Lossy.From {
				before = append(before, h)
			}
			if h.EndCall > m.Lossy.Till {
				behind = append(behind, h)
			}
		}
	}
	f.Nacked += nacked
	f.Duplicates += max(len(of)-1-nacked, 0)
	f.Forgotten += max(len(calm)-1, 0)
	for _, some := range [][]Handling{before, behind} {
		if len(some) > 1 {
			return []Violation{m.broken(some[0], "a duplicate that no kill and no fault explains", texts(some...)...)}
		}
	}
	return nil
}

// attempts reports poison that was delivered too often, or for which an attempt was counted that no consumer began. The
// latter is allowed if the attempt may have been sent to a consumer that was killed or left.
func (m *Messages) attempts(of []Handling, cuts []Span) []Violation {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b Handling) int { return cmp.Compare(a.Attempt, b.Attempt) })
	last := Handling{}
	for _, h := range of {
		firm := h.Begin < m.Lossy.From || last.Call > m.Lossy.Till
		switch {
		case h.Attempt > m.MaxDeliveries:
			return []Violation{m.broken(h, fmt.Sprintf("delivered more than %d times", m.MaxDeliveries), texts(of...)...)}
		case last.Attempt == h.Attempt && firm:
			return []Violation{m.broken(h, "one attempt was delivered twice", texts(last, h)...)}
		case h.Attempt > last.Attempt+1 && !meets(cuts, Span{min(last.Begin, h.Begin), max(last.Begin, h.Begin)}):
			return []Violation{m.broken(h, "an attempt was counted that no consumer had", texts(of...)...)}
		}
		last = h
	}
	if last.Attempt < m.MaxDeliveries && !meets(cuts, Span{last.Begin, Never}) {
		return []Violation{m.broken(last, "an attempt was counted that no consumer had", texts(of...)...)}
	}
	return nil
}

// buried reports dead letters that are not poison, and poison that is not a dead letter.
func (m *Messages) buried() []Violation {
	var found []Violation
	letters := make(map[ofGroup]int)
	for _, l := range m.Letters {
		h := Handling{Stream: l.Stream, Group: l.Group, ID: l.ID}
		letters[ofGroup{l.Stream, l.Group, l.ID}]++
		switch {
		case !IsPoison(l.ID):
			found = append(found, m.broken(h, "a dead letter that is no poison", texts(l)...))
		case l.Attempts != m.MaxDeliveries:
			found = append(found, m.broken(h, fmt.Sprintf("a dead letter after another number of attempts than %d", m.MaxDeliveries), texts(l)...))
		}
	}
	for stream, ids := range m.Logs {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			for _, group := range m.Groups {
				if n := letters[ofGroup{stream, group, id}]; IsPoison(id) && n != 1 {
					found = append(found, m.broken(Handling{Stream: stream, Group: group, ID: id}, fmt.Sprintf("poison that is a dead letter %d times", n)))
				}
			}
		}
	}
	return found
}

// merged sorts spans, and joins those that overlap or touch.
func merged(spans []Span) []Span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var all []Span
	for _, s := range spans {
		if n := len(all); n > 0 && s.From <= all[n-1].Till {
			all[n-1].Till = max(all[n-1].Till, s.Till)
			continue
		}
		all = append(all, s)
	}
	return all
}

// meets reports whether a span overlaps or touches any of merged spans.
func meets(spans []Span, s Span) bool {
	i, _ := slices.BinarySearchFunc(spans, s.From, func(x Span, from time.Duration) int { return cmp.Compare(x.Till, from) })
	return i < len(spans) && spans[i].From <= s.Till
}
