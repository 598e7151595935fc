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

// InputOf is KEYS and ARGV of one run, without a latch.
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
