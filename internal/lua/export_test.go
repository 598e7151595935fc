package lua

import "reflect"

// Unnamed is a body of a script with the outputs O as it is put into the script's text.
func Unnamed[O any](body string) string {
	return contractOf(reflect.TypeFor[struct{}](), reflect.TypeFor[O](), "").unnamed(body)
}

// Loaded is how many texts the runner loads, in both forms.
func Loaded(r *Runner) int { return len(r.scripts().Texts) }
