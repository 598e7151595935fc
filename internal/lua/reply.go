package lua

import "fmt"

// Reply is a script's reply, read value by value in the order of the contract.
// The first value that does not fit sets the error of the whole reply, so that
// readers need no check after each value.
type Reply struct {
	values []any
	next   int
	err    error
}

// Int reads the next value as an integer.
func (r *Reply) Int() int64 {
	v := r.take()
	n, ok := v.(int64)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("value %d is %T, not an integer", r.next, v)
	}
	return n
}

// Bool reads the next value as 0 or 1.
func (r *Reply) Bool() bool { return r.Int() != 0 }

// Str reads the next value as a string.
func (r *Reply) Str() string {
	v := r.take()
	s, ok := v.(string)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("value %d is %T, not a string", r.next, v)
	}
	return s
}

// More reports whether there is another value.
func (r *Reply) More() bool { return r.next < len(r.values) }

func (r *Reply) take() any {
	if r.next >= len(r.values) {
		if r.err == nil {
			r.err = fmt.Errorf("only %d values", len(r.values))
		}
		return nil
	}
	v := r.values[r.next]
	r.next++
	return v
}
