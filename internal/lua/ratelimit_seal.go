package lua

// RatelimitSeal tells the text by which all sidecars seal grants, and keeps the
// one that is offered where there is none.
var RatelimitSeal = define[RatelimitSealIn](Source{
	Name:       "ratelimit_seal",
	Keys:       []string{"seal"},
	Args:       []string{"offered"},
	Returns:    []string{"seal"},
	Idempotent: true,
}, func(r *Reply) string { return r.Str() })

// RatelimitSealIn offers a text.
type RatelimitSealIn struct {
	Seal    string // key
	Offered string
}

func (in RatelimitSealIn) keys(to []string) []string { return append(to, in.Seal) }
func (in RatelimitSealIn) args(to []any) []any       { return append(to, in.Offered) }
