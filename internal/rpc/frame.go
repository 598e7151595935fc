package rpc

import "fmt"

// A skimmer finds where a frame ends and where the parts of its envelope begin,
// in a buffer that grows while the connection is read. It reads headers only,
// goes on where it stopped, and allocates nothing for a declared length: a frame
// that arrives byte by byte costs no more than one that arrives at once.
type skimmer struct {
	maxBytes, maxElements int
	// open has, for each container that has begun and not ended, how many of its
	// values are still to come. Its capacity is the deepest nesting allowed.
	open []int
	// pos is where the next header begins. It may be past the bytes that have
	// arrived, so a frame whose declared length exceeds maxBytes is refused
	// before its body arrives.
	pos int
	// begun counts the elements of the envelope that have begun, and start is
	// where the first four of them begin.
	begun int
	start [4]int
	done  bool
}

// malformed is the reason why a frame cannot be read, and the offset of the byte
// at which that was found.
type malformed struct {
	reason string
	offset int
}

// reset prepares for the next frame.
func (s *skimmer) reset() {
	s.open = s.open[:0]
	s.pos, s.begun, s.done = 0, 0, false
}

// skim continues reading in b, which begins with the frame's first byte, and
// reports whether the frame is complete; s.pos is then its length.
func (s *skimmer) skim(b []byte) (bool, *malformed) {
	for !s.done {
		if s.pos >= len(b) {
			return false, nil
		}
		k, size, length, ok := head(b, s.pos)
		depth := len(s.open)
		switch {
		case k == kindBad:
			return false, &malformed{"the byte c1 is no MessagePack", s.pos}
		case depth == 0 && k != kindArray:
			return false, &malformed{"a frame is an array", s.pos}
		case !ok:
			return false, nil
		}
		if fault := s.step(depth, k, size, length); fault != nil {
			return false, fault
		}
	}
	return s.pos <= len(b), nil
}

// step processes one header.
func (s *skimmer) step(depth int, k kind, size, length int) *malformed {
	at := s.pos
	if depth == 1 {
		if s.begun < len(s.start) {
			s.start[s.begun] = at
		}
		s.begun++
	}
	s.pos += size
	if k == kindArray || k == kindMap {
		if length > s.maxElements {
			return &malformed{fmt.Sprintf("%d elements in one container; at most %d are taken", length, s.maxElements), at}
		}
		if depth == cap(s.open) {
			return &malformed{fmt.Sprintf("nested deeper than %d", cap(s.open)), at}
		}
		if k == kindMap {
			length *= 2
		}
		if length > 0 {
			s.open = append(s.open, length)
			return s.bound(at)
		}
	}
	s.pos += length
	s.closeFull()
	return s.bound(at)
}

func (s *skimmer) bound(at int) *malformed {
	if s.pos > s.maxBytes {
		return &malformed{fmt.Sprintf("a frame of %d bytes or more; at most %d are taken", s.pos, s.maxBytes), at}
	}
	return nil
}

// closeFull counts a value that has ended in the container that holds it. If that
// completes the container, it does the same for the container in turn.
func (s *skimmer) closeFull() {
	for n := len(s.open); n > 0; n = len(s.open) {
		s.open[n-1]--
		if s.open[n-1] > 0 {
			return
		}
		s.open = s.open[:n-1]
	}
	s.done = true
}

// A frame is a request or notification, as spans of the read buffer: it is
// valid until the next read.
type frame struct {
	// id is the msgid's value and idBytes how it was written; idBytes is empty
	// for a notification.
	id      integer
	idBytes []byte
	method  []byte
	params  []byte
}

func (f *frame) request() bool { return len(f.idBytes) > 0 }

// The types of frames that clients send.
const (
	typeRequest      = 0
	typeNotification = 2
)

// envelope reads the parts of a complete frame. If it returns a fault and f has a
// request's msgid, the caller answers that request with an error; any other fault
// ends the connection.
func (s *skimmer) envelope(b []byte) (f frame, fault string) {
	if s.begun == 0 {
		return f, "an empty frame"
	}
	typ := cursor{b, s.start[0]}
	n, ok := typ.integer()
	switch {
	case ok && n == integer{abs: typeRequest}:
		return s.requestOf(b)
	case ok && n == integer{abs: typeNotification}:
		return s.notificationOf(b)
	default:
		return f, "the type, a frame's first element, is 0 for a request or 2 for a notification"
	}
}

func (s *skimmer) requestOf(b []byte) (f frame, fault string) {
	const want = "a request is [0, msgid, method, params], 4 elements"
	if s.begun < 2 {
		return f, want
	}
	c := cursor{b, s.start[1]}
	id, ok := c.integer()
	if !ok {
		return f, "the msgid is an integer"
	}
	f.id, f.idBytes = id, b[s.start[1]:c.i]
	if s.begun != 4 {
		return f, fmt.Sprintf("%s; this one has %d", want, s.begun)
	}
	if f.method, _, ok = c.text(); !ok {
		return f, "the method, a request's third element, is text"
	}
	f.params = b[s.start[3]:s.pos]
	return f, ""
}

func (s *skimmer) notificationOf(b []byte) (f frame, fault string) {
	if s.begun != 3 {
		return f, "a notification is [2, method, params], 3 elements"
	}
	c := cursor{b, s.start[1]}
	var ok bool
	if f.method, _, ok = c.text(); !ok {
		return f, "the method, a notification's second element, is text"
	}
	f.params = b[s.start[2]:s.pos]
	return f, ""
}
