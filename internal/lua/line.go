package lua

import "strings"

// LineKeys are the two keys of a waiting line; the scripts' preludes say what
// they hold.
type LineKeys struct{ Line, Beats string }

// LineBeat keeps the places of one sidecar's waiters in one line, and tells
// whose turn it is, so that nothing rests on a message that may be lost.
var LineBeat = define[LineBeatIn](Source{
	Name:       "line_beat",
	Keys:       []string{"line", "beats"},
	Args:       []string{"sidecar", "beat_ms", "waiters", "gone"},
	Returns:    []string{"head", "head_ms", "missing"},
	Idempotent: true,
}, func(r *Reply) LineBeatOut {
	return LineBeatOut{Head: r.Str(), HeadMS: r.Int(), Missing: strings.Fields(r.Str())}
})

// LineBeatIn is one beat. Waiters are some of this sidecar's, at most 100, to be
// checked for their places.
type LineBeatIn struct {
	LineKeys
	Sidecar string
	BeatMS  int64
	Waiters []string
	// Gone is a waiter of this sidecar that waits no more and still has a place;
	// empty = none is known.
	Gone string
}

func (in LineBeatIn) keys(to []string) []string { return append(to, in.Line, in.Beats) }
func (in LineBeatIn) args(to []any) []any {
	return append(to, in.Sidecar, in.BeatMS, strings.Join(in.Waiters, " "), in.Gone)
}

// LineBeatOut is what was found.
type LineBeatOut struct {
	// Head is the waiter whose turn it is, of whichever sidecar; empty = none is known.
	Head string
	// HeadMS is when the head's sidecar is taken for dead unless it beats again, rounded up.
	HeadMS int64
	// Missing are those of Waiters that have no place any more.
	Missing []string
}
