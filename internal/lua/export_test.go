package lua

import "reflect"

// Unnamed returns the body of a script with the outputs O, as it is put into the script's text.
func Unnamed[O any](body string) string {
	return contractOf(reflect.TypeFor[struct{}](), reflect.TypeFor[O](), "").unnamed(body)
}

// Loaded returns how many script texts the runner loads, with both forms counted.
func Loaded(r *Runner) int { return len(r.scripts().Texts) }
