package lua

import "reflect"

// Clocked is the script on the caller's clock.
func Clocked(s *Source) (text, sha string) { return s.clocked() }

// InputOf is KEYS and ARGV of one run, without a latch.
func InputOf[I, O any](s Script[I, O], in I) (keys []string, args []any) {
	args, n := s.put(in, "", nil)
	for _, k := range args[:n] {
		keys = append(keys, k.(string))
	}
	return keys, args[n:]
}

// ReadAs reads a reply as the script's descriptor does.
func ReadAs[I, O any](s Script[I, O], reply []any) (O, error) {
	r := &Reply{values: reply}
	out := s.read(r, false)
	return out, r.err
}

// AllFiles are the embedded scripts and parts.
var AllFiles = lib

// Unnamed is a body of a script with the outputs O as it is put into the script's text.
func Unnamed[O any](body string) string {
	return contractOf(reflect.TypeFor[struct{}](), reflect.TypeFor[O](), "").unnamed(body)
}
