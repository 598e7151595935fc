package lua

// RatelimitSeal tells the text by which all sidecars seal grants, and keeps the
// one that is offered where there is none.
var RatelimitSeal = Define[RatelimitSealIn, string](files, Source{
	Name:       "ratelimit_seal",
	Returns:    []string{"seal"},
	Idempotent: true,
})

// RatelimitSealIn offers a text.
type RatelimitSealIn struct {
	Seal    string `lua:"key"`
	Offered string
}
