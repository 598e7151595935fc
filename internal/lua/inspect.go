package lua

import "strings"

// What this file has is for tools and tests, which look into scripts and run them without
// a runner. The product uses none of it.

// Clocked is the script on the caller's clock, see Source.form, and its name for EVALSHA.
// With many it is in its form for many items.
func Clocked(s *Source, many bool) (text, sha string) {
	t := s.form(form(many), true)
	return t.body, t.sha
}

// InputOf is KEYS and ARGV of one run, without a stored reply.
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

// NamesOf are the names of the values that a reply has by the script's contract, which are
// more the more items its lists have.
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

// PartsOf are the texts of parts, one behind the other, as the script has them: they are
// of its own folder or of lib, without comments.
func PartsOf(s *Source, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(s.part(name))
	}
	return b.String()
}
