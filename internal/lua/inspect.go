package lua

import "strings"

// The functions of this file are for tools and tests, which inspect scripts and run them
// without a runner. The sidecar uses none of them.

// Clocked returns the script on the caller's clock, see Source.form, and its name for
// EVALSHA. With many it is in its form for many items.
func Clocked(s *Source, many bool) (text, sha string) {
	t := s.form(form(many), true)
	return t.body, t.sha
}

// InputOf returns KEYS and ARGV of one run, without a stored reply.
func InputOf[I, O any](s Script[I, O], in I) (keys []string, args []any) {
	args, n := s.put(&in, new(string), nil)
	for i, arg := range args {
		switch v := arg.(type) {
		case *string:
			args[i] = *v
		case *int64:
			args[i] = *v
		}
	}
	for _, k := range args[:n] {
		keys = append(keys, k.(string)) //nolint:forcetypeassert // a key is a string
	}
	return keys, args[n:]
}

// NamesOf returns the name of each value of a reply by the script's contract. A list has
// names for each of its items.
func NamesOf(s *Source, reply []any) []string {
	n := &namer{reply: reply}
	n.add(s.contract.outs)
	return n.names
}

// namer names the values of a reply one after the other.
type namer struct {
	reply []any
	names []string
}

func (n *namer) add(outs []member) {
	for _, m := range outs {
		var count int64
		if at := len(n.names); at < len(n.reply) {
			count, _ = n.reply[at].(int64)
		}
		n.names = append(n.names, m.name)
		switch m.kind {
		case kindItems:
			for range count {
				n.add(m.items)
			}
		case kindTexts:
			for range count {
				n.names = append(n.names, "text")
			}
		default:
		}
	}
}

// ReadAs reads a reply as the script's contract does.
func ReadAs[I, O any](s Script[I, O], reply []any) (O, error) {
	var out O
	r := &Reply{values: reply}
	s.read(&out, r, false)
	return out, r.err
}

// PartsOf returns the texts of parts one after the other, as the script uses them: from its
// own folder or from lib, without comments.
func PartsOf(s *Source, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(s.part(name))
	}
	return b.String()
}
